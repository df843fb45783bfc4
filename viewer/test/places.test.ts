import { describe, expect, it } from "vitest";
import { Places } from "../src/film/places";
import { filmOf, keyframeOf, tickOf } from "./making";

const EAST = 2;

/** Ann goes east one tile in each tick from 5,5; Bob is put somewhere else at tick 20. */
function walk(ticks: number, ids = ["ann", "bob"]) {
  const film = filmOf(ids);
  film.add(keyframeOf(0, [[5, 5], [50, 9]]));
  for (let tick = 1; tick <= ticks; tick += 1) film.add(tickOf(tick, { steps: { 0: EAST }, put: tick === 20 ? { 1: [7, 3] } : {} }));
  return film;
}

describe("places of the past", () => {
  it("are those after each tick, in whatever order they are asked for", () => {
    const places = new Places(walk(64));
    for (const tick of [64, 1, 30, 19, 20, 64, 2]) {
      expect([...(places.at(tick) ?? [])]).toEqual([5 + tick, 5, ...(tick < 20 ? [50, 9] : [7, 3])]);
    }
  });

  it("are not told where ticks are missing", () => {
    const film = walk(10);
    film.add(tickOf(12));
    expect(new Places(film).at(12)).toBeNull();
    expect(new Places(film).at(11)).toBeNull();
  });

  it("are kept along the way where the last keyframe is long ago", () => {
    const film = walk(1);
    const places = new Places(film);
    film.show(1);
    for (let tick = 2; tick <= 1000; tick += 1) {
      film.add(tickOf(tick, { steps: { 0: EAST } }));
      film.show(tick);
      if (tick % 3 === 0) places.note();
    }
    expect([...(places.at(1000) ?? [])]).toEqual([1005, 5, 50, 9]);
    expect([...(places.at(761) ?? [])]).toEqual([766, 5, 50, 9]);
  });

  it("are those of the run at hand after a world began anew", () => {
    const film = walk(10);
    const places = new Places(film);
    expect(places.at(10)?.[0]).toBe(15);
    film.add(keyframeOf(0, [[80, 5], [50, 9]]));
    for (let tick = 1; tick <= 10; tick += 1) film.add(tickOf(tick));
    expect(places.at(10)?.[0]).toBe(80);
  });

  it("of a crowd take a bounded amount of memory", () => {
    const crowd = Array.from({ length: 100_000 }, (_, row) => `entity:${row}`);
    const film = filmOf(crowd, { windowTicks: 16 });
    film.add(keyframeOf(0, crowd.map((_, row) => [row % 500, 1] as [number, number])));
    for (let tick = 1; tick <= 80; tick += 1) film.add(tickOf(tick, { steps: { 0: EAST } }));
    const places = new Places(film);
    for (let tick = 1; tick <= 80; tick += 1) expect(places.at(tick)?.[0]).toBe(tick);
    expect(places.bytes).toBeLessThan(30 * 1024 * 1024);
  });
});

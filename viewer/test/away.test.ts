import { describe, expect, it } from "vitest";
import { Status, Tag } from "../src/codes";
import { EventLog, heardBy } from "../src/events";
import { Places } from "../src/film/places";
import { filmOf, keyframeOf, tickOf } from "./making";

const AWAY: [number, number] = [-1, -1];
const EAST = 2;

/** Ann is there; Bob comes at tick 3 to 9,4, goes east, and is gone after tick 6. */
function visit() {
  const film = filmOf(["ann", "bob"]);
  film.add(keyframeOf(0, [[5, 5], AWAY]));
  for (let tick = 1; tick <= 8; tick += 1) {
    const put: Record<number, [number, number]> = tick === 3 ? { 1: [9, 4] } : tick === 6 ? { 1: AWAY } : {};
    const status = tick === 3 ? [0] : tick === 6 ? [Status.UNCONTROLLED] : [];
    film.add(
      tickOf(tick, {
        steps: tick === 5 ? { 1: EAST } : {},
        put,
        [Tag.STATUS_ROWS]: Uint32Array.from(status, () => 1),
        [Tag.STATUS]: Uint8Array.from(status),
        [Tag.SAID]: tick === 2 || tick === 4 ? [[0, "local", `at ${tick}`, 2, 1]] : [],
      }),
    );
  }
  return film;
}

describe("a character that comes and goes", () => {
  it("is away until it comes, and again after it has left", () => {
    const film = visit();
    const away = [1, 2, 3, 4, 5, 6, 7].map((tick) => {
      film.show(tick);
      return [film.scene.isAway(0), film.scene.isAway(1), film.scene.away];
    });
    expect(away).toEqual([1, 1, 0, 0, 0, 1, 1].map((gone) => [false, gone === 1, gone]));
  });

  it("walks neither in from nowhere nor out to it", () => {
    const { scene, show } = ((film) => ({ scene: film.scene, show: (tick: number) => film.show(tick) }))(visit());
    show(2);
    show(3);
    expect([...scene.before.subarray(2)]).toEqual([9, 4]); // where it is now
    show(4);
    show(5);
    expect([...scene.before.subarray(2), ...scene.places.subarray(2)]).toEqual([9, 4, 10, 4]);
    show(6);
    expect([...scene.places]).toEqual([5, 5, -1, -1]);
    expect([...scene.before.subarray(0, 2)]).toEqual([5, 5]);
  });

  it("is in the log when it comes and when it leaves, and not as one that lost its agent", () => {
    const film = visit();
    const log = new EventLog(film, new Places(film));
    const { entries } = log.recent({ types: ["control"], actor: "", region: null }, 8, 50);
    expect(entries.map(({ tick, row, text }) => [tick, row, text])).toEqual([
      [6, 1, "leaves the world"],
      [3, 1, "comes into the world"],
    ]);
  });

  it("hears nothing while it is away, even near the corner of the map", () => {
    const film = visit();
    expect(heardBy(film, new Places(film), 1, 2, 10, 10)).toEqual([]);
    film.add(keyframeOf(0, [[5, 5], [1, 1]]));
    expect(heardBy(film, new Places(film), 1, 2, 10, 10).map(({ text }) => text)).toEqual(["at 2"]);
  });
});

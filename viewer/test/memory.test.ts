import { describe, expect, it } from "vitest";
import { Kind, Tag } from "../src/codes";
import { Film } from "../src/film/film";
import type { Source } from "../src/film/source";
import type { World } from "../src/frames/world";
import { frameOf } from "./making";

const WINDOW = 16;

const thought = (tick: number, brief: string) => ({ tick, row: 0, waited: 1, brief, model: "m", latency_s: 1, cost_usd: null, tokens: 1, error_type: "" });

/** A live world of few, of which the page keeps at most so many bytes. */
function live(mostBytes: number) {
  const source = {
    window: async (first: number, last: number) => [
      frameOf(Kind.KEYFRAME, first - 1),
      ...Array.from({ length: last - first + 1 }, (_, at) => frameOf(Kind.TICK, first + at)),
    ],
  } as unknown as Source;
  const world = { info: { window_ticks: WINDOW, tick_ms: 100 }, actors: 2, things: 0, thingX: new Int16Array(0), thingY: new Int16Array(0) } as unknown as World;
  const film = new Film(world, source, mostBytes);
  film.span = { run_id: "r", first: 1, last: 0, growing: true, connected: true, live: true };
  film.addNewest(frameOf(Kind.KEYFRAME, 0));
  const grow = (to: number, notes: (tick: number) => Record<number, object> | null = () => null) => {
    for (let tick = film.span.last + 1; tick <= to; tick += 1) {
      film.addNewest(frameOf(Kind.TICK, tick));
      const told = notes(tick);
      if (told) film.addNewest(frameOf(Kind.NOTES, tick, told));
    }
  };
  return { film, grow };
}

describe("the memory of a page that stays open", () => {
  it("ends also for ticks in which hardly anything happens", () => {
    const { film, grow } = live(200_000);
    grow(5000);
    expect([film.has(1), film.has(5000)]).toEqual([false, true]);
    expect(film.bytes).toBeLessThanOrEqual(200_000);
    expect(Array.from({ length: 5000 }, (_, at) => at + 1).filter((tick) => film.has(tick)).length).toBeLessThan(400);
  });

  it("counts what agents tell, and forgets it with its ticks", () => {
    const { film, grow } = live(10_000_000);
    grow(500, (tick) => ({ [Tag.THOUGHTS]: [thought(tick, "x".repeat(20_000))], [Tag.STATES]: [[tick, 1, "running", "y".repeat(5000)]] }));
    expect(film.bytes).toBeLessThanOrEqual(10_000_000);
    expect([film.marksAt(1), film.agentsAt(1)]).toEqual([[], []]);
    expect([film.marksAt(500).length, film.agentsAt(500).length]).toEqual([1, 1]);
  });

  it("counts what is told twice once", () => {
    const { film, grow } = live(2_000_000);
    const told = { [Tag.THOUGHTS]: [thought(3, "I go home.")], [Tag.STATES]: [[3, 1, "running", "walks"]] };
    grow(10);
    film.add(frameOf(Kind.NOTES, 10, told));
    const once = film.bytes;
    for (let again = 0; again < 5; again += 1) film.add(frameOf(Kind.NOTES, 10, told));
    film.add(frameOf(Kind.TICK, 7));
    expect(film.bytes).toBe(once);
  });

  it("has nothing of ticks that the server has let go", () => {
    const { film, grow } = live(2_000_000);
    grow(100, (tick) => ({ [Tag.THOUGHTS]: [thought(tick, "so be it")] }));
    const before = film.bytes;
    film.span = { ...film.span, first: 65 };
    grow(101);
    expect([film.has(1), film.marksAt(1).length, film.has(64)]).toEqual([false, 0, false]);
    expect([film.has(65), film.marksAt(65).length]).toEqual([true, 1]);
    expect(film.bytes).toBeLessThan(before / 2);
  });

  it("keeps the ticks that one looks at", async () => {
    const { film, grow } = live(200_000);
    grow(40);
    await film.need(8);
    film.show(8);
    for (let tick = 41; tick < 3000; tick += 1) {
      grow(tick);
      film.show(8); // as the map does for each picture
    }
    expect([film.has(8), film.has(40)]).toEqual([true, false]);
  });

  it("lets go of one window without the start of the next", async () => {
    const { film, grow } = live(40_000);
    grow(200);
    await film.need(100); // of ticks 97 to 112, which begin with tick 96
    film.show(100);
    expect(film.has(80)).toBe(false);
    expect(film.reaches(97)).toBe(true);
  });
});

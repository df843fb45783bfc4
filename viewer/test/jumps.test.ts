import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kind, Tag } from "../src/codes";
import { App } from "../src/app";
import { Film } from "../src/film/film";
import { nextEvent, type EventName } from "../src/film/jumps";
import type { Digest, Source } from "../src/film/source";
import type { World } from "../src/frames/world";
import { frameOf } from "./making";

const NAMES: EventName[] = ["said", "answers", "outages"];
const WINDOW = 16;
const TICKS = 2000;

/** A run with speech and thoughts at some ticks, and the digest of it in buckets of several ticks. */
function run(said: number[], thought: number[] = [], { step = 10, lost = (_first: number): boolean => false } = {}) {
  const asked: number[] = [];
  const source = {
    window: async (first: number, last: number) => {
      asked.push(first);
      if (lost(first)) throw new Error("these ticks are not there");
      const told = thought.filter((tick) => tick >= first && tick <= last).map((tick) => ({ tick, row: 0, brief: "b", model: "m", error_type: "" }));
      return [
        frameOf(Kind.KEYFRAME, first - 1),
        ...Array.from({ length: last - first + 1 }, (_, at) =>
          frameOf(Kind.TICK, first + at, said.includes(first + at) ? { [Tag.SAID]: [[0, "entity:1", "hello", 1, 1]] } : {}),
        ),
        frameOf(Kind.NOTES, last, { [Tag.THOUGHTS]: told }),
      ];
    },
  } as unknown as Source;
  const world = { info: { window_ticks: WINDOW, tick_ms: 100 }, actors: 2, things: 0, thingX: new Int16Array(0), thingY: new Int16Array(0) } as unknown as World;
  const film = new Film(world, source);
  film.span = { run_id: "r", first: 1, last: TICKS, growing: false, connected: true, live: false };
  const count = (ticks: number[]) => Array.from({ length: TICKS / step }, (_, at) => ticks.filter((tick) => Math.floor((tick - 1) / step) === at).length);
  const digest: Digest = { first: 1, step, ticks: TICKS, columns: { said: count(said), answers: count(thought), outages: count([]) } };
  return { film, digest, asked, source };
}

/** All events that are reached one after the other. */
async function all(from: number, direction: 1 | -1, ...given: Parameters<typeof run>) {
  const { film, digest } = run(...given);
  const found: number[] = [];
  for (let at = from; found.length < 50; ) {
    const next = await nextEvent(film, digest, NAMES, at, direction);
    if (next === null) break;
    found.push((at = next));
  }
  return found;
}

describe("the next event", () => {
  const said = [3, 207, 209, 210, 211, 1999];

  it("is the tick itself, though the digest knows only where about it is", async () => {
    expect(await all(1, 1, said)).toEqual(said);
    expect(await all(TICKS, -1, said)).toEqual([...said].reverse());
  });

  it("is a thought as well as a word", async () => {
    expect(await all(1, 1, [5], [8, 16, 17])).toEqual([5, 8, 16, 17]);
    expect(await all(17, -1, [5], [8, 16, 17])).toEqual([16, 8, 5]);
  });

  it("needs no frames where the digest knows every tick", async () => {
    const { film, digest, asked } = run(said, [], { step: 1 });
    expect(await nextEvent(film, digest, NAMES, 3, 1)).toBe(207);
    expect(asked).toEqual([]);
  });

  it("needs only the frames where it may be", async () => {
    const { film, digest, asked } = run([207]);
    expect(await nextEvent(film, digest, NAMES, 1, 1)).toBe(207);
    expect(asked).toEqual([193]); // the window with ticks 201 to 207
  });

  it("is where the digest says if its frames do not come, and the one after it is reached all the same", async () => {
    expect(await all(1, 1, [207, 905], [], { lost: (first) => first < 800 && first > 100 })).toEqual([201, 905]);
  });

  it("is not before the first tick that there is", async () => {
    const { film, digest } = run([3, 207]);
    film.span = { ...film.span, first: 200 };
    expect(await nextEvent(film, digest, NAMES, 207, -1)).toBeNull();
  });

  it("is not there after the last", async () => {
    expect(await all(1999, 1, said)).toEqual([]);
    expect(await all(3, -1, said)).toEqual([]);
  });
});

describe("the keys for events", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("location", { hash: "#tick=1", pathname: "/", search: "" });
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal("history", { replaceState: () => {} });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  async function opened(said: number[]) {
    const { source, digest, film } = run(said);
    const info = { name: "w", mode: "clip", window_ticks: WINDOW, tick_ms: 100, run_id: "r", people: {} };
    const app = await App.open({
      ...source,
      hello: async () => frameOf(Kind.HELLO, 0, { [Tag.INFO]: info }),
      span: async () => film.span,
      digest: async () => digest,
    } as Source);
    await vi.advanceTimersByTimeAsync(1);
    return app;
  }
  const turn = () => vi.advanceTimersByTimeAsync(1);

  it("go to every event, also when they are pressed quickly", async () => {
    const app = await opened([207, 209, 500]);
    app.jump(NAMES, 1);
    await turn();
    expect(app.player.tick).toBe(207);
    app.jump(NAMES, 1);
    app.jump(NAMES, 1);
    await turn();
    expect(app.player.tick).toBe(500);
    app.jump(NAMES, -1);
    await turn();
    expect(app.player.tick).toBe(209);
  });

  it("give way to whoever goes somewhere else meanwhile", async () => {
    const app = await opened([207, 500]);
    app.jump(NAMES, 1);
    app.seek(1000);
    await turn();
    expect(app.player.tick).toBe(1000);
  });
});

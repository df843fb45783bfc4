import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kind } from "../src/codes";
import { Film } from "../src/film/film";
import type { Source } from "../src/film/source";
import { Frame } from "../src/frames/layout";
import { failedSteps } from "../src/frames/scene";
import type { World } from "../src/frames/world";

/** A crowd whose windows come when the test says so. */
function crowd() {
  const asked: { first: number; last: number; come: () => void; signal?: AbortSignal }[] = [];
  const frame = (kind: number, tick: number) => new Frame(kind, tick, 0, 8, new ArrayBuffer(0), new Map());
  const source = {
    window: (first: number, last: number, signal?: AbortSignal) =>
      new Promise<Frame[]>((done, failed) => {
        const ticks = Array.from({ length: last - first + 1 }, (_, at) => frame(Kind.TICK, first + at));
        asked.push({ first, last, signal, come: () => done([frame(Kind.KEYFRAME, first - 1), ...ticks]) });
        signal?.addEventListener("abort", () => failed(new Error("stopped")));
      }),
    state: (tick: number) =>
      new Promise<Frame[]>((done) => asked.push({ first: tick, last: 0, come: () => done([frame(Kind.KEYFRAME, tick)]) })),
  } as unknown as Source;
  const info = { window_ticks: 64, tick_ms: 1000 };
  const world = { info, actors: 1000, things: 0, thingX: new Int16Array(0), thingY: new Int16Array(0) } as unknown as World;
  const film = new Film(world, source);
  film.span = { run_id: "r", first: 1, last: 10_000, growing: false, connected: true, live: false };
  return { film, asked };
}

const turn = () => vi.advanceTimersByTimeAsync(1);
const stay = () => vi.advanceTimersByTimeAsync(200);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a film of a crowd", () => {
  it("shows the tick that one jumps to before the rest of its window is there", async () => {
    const { film, asked } = crowd();
    const there = film.need(700);
    expect(asked.map(({ first, last }) => [first, last])).toEqual([[700, 0]]);
    asked[0].come();
    await there;
    expect(film.reaches(700)).toBe(true);
    await stay();
    expect([asked[1].first, asked[1].last]).toEqual([641, 704]);
  });

  it("lets go of the rest of a window when one jumps on", async () => {
    const { film, asked } = crowd();
    void film.need(700);
    asked[0].come();
    await stay();
    void film.need(9000);
    expect(asked[1].signal?.aborted).toBe(true);
    await turn();
    asked[2].come();
    await stay();
    expect([asked[3].first, asked[3].signal?.aborted]).toEqual([8961, false]);
    void film.need(701, false); // it was let go, so it is asked for again, and follows the tick that is there
    expect([asked[4].first, asked[4].last]).toEqual([641, 704]);
  });

  it("asks for no windows while one drags the timeline along", async () => {
    const { film, asked } = crowd();
    for (const tick of [700, 1700, 2700, 3700]) {
      void film.need(tick);
      asked.at(-1)?.come();
      await turn();
    }
    await stay();
    expect(asked.map(({ first }) => first)).toEqual([700, 1700, 2700, 3700, 3649]);
  });

  it("shows another tick of a window before the rest of it is there", async () => {
    const { film, asked } = crowd();
    void film.need(700);
    asked[0].come();
    await stay();
    expect(asked[1].last).toBe(704); // the rest is under way
    for (const [at, tick] of [650, 701].entries()) {
      const there = film.need(tick);
      expect([asked[2 + at].first, asked[2 + at].last]).toEqual([tick, 0]);
      asked[2 + at].come();
      await there;
      expect(film.reaches(tick)).toBe(true);
      await turn();
    }
    await stay();
    expect(asked[1].signal?.aborted).toBe(false);
    asked[1].come();
    await turn();
    expect(film.reaches(690)).toBe(true);
    expect(asked).toHaveLength(4);
  });

  it("asks for one tick at a time, and then for the one that is wanted by then", async () => {
    const { film, asked } = crowd();
    for (const tick of [700, 1700, 2700, 3700]) void film.need(tick);
    expect(asked.map(({ first }) => first)).toEqual([700]);
    asked[0].come();
    await turn();
    expect(asked.map(({ first }) => first)).toEqual([700, 3700]);
    asked[1].come();
    await stay();
    expect(asked.map(({ first }) => first)).toEqual([700, 3700, 3649]);
  });

  it("gets the rest of a window to which one comes back", async () => {
    const { film, asked } = crowd();
    for (const tick of [700, 9000, 650]) {
      void film.need(tick);
      asked.at(-1)?.come();
      await turn();
    }
    await stay();
    expect(asked.map(({ first }) => first)).toEqual([700, 9000, 650, 641]);
  });

  it("gets what comes next as a whole, and stops nothing for it", async () => {
    const { film, asked } = crowd();
    void film.need(700);
    asked[0].come();
    await stay();
    void film.need(720, false);
    expect([asked[2].first, asked[2].last]).toEqual([705, 768]);
    expect(asked[1].signal?.aborted).toBe(false);
  });
});

describe("the failed steps of a tick", () => {
  it("are looked for once", () => {
    const frame = new Frame(Kind.TICK, 1, 0, 8, new ArrayBuffer(0), new Map());
    expect(failedSteps(frame, 0)).toEqual({ found: [], more: 0 });
    expect(failedSteps(frame, 0)).toBe(failedSteps(frame, 0));
  });
});

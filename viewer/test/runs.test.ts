import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kind, Tag } from "../src/codes";
import { App } from "../src/app";
import type { Source, Span } from "../src/film/source";
import { type Frame } from "../src/frames/layout";
import { frameOf } from "./making";

const address = { hash: "", pathname: "/", search: "", reload: vi.fn() };

beforeEach(() => {
  vi.useFakeTimers();
  address.hash = "";
  address.reload.mockClear();
  vi.stubGlobal("location", address);
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("history", { replaceState: (_state: unknown, _title: string, to: string) => (address.hash = to.startsWith("#") ? to : "") });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A page before a server that tells the span which the test sets. */
async function opened(span: Partial<Span>, mode = "live") {
  const now: Span = { run_id: "monday", first: 1, last: 40, growing: true, connected: true, live: mode === "live", ...span };
  let onFrame = (_frame: Frame) => {};
  const asked = { spans: 0 };
  const source = {
    hello: async () => frameOf(Kind.HELLO, 0, { [Tag.INFO]: { name: "w", mode, window_ticks: 16, tick_ms: 100, run_id: "monday", people: {} } }),
    span: async () => {
      asked.spans += 1;
      return { ...now };
    },
    window: async (first: number, last: number) => [
      frameOf(Kind.KEYFRAME, first - 1),
      ...Array.from({ length: last - first + 1 }, (_, at) => frameOf(Kind.TICK, first + at)),
    ],
    digest: async () => ({ first: 1, step: 1, ticks: 0, columns: {} }),
    watch: (call: (frame: Frame) => void) => {
      onFrame = call;
      return () => {};
    },
  } as unknown as Source;
  const app = await App.open(source);
  return { app, now, asked, frame: (one: Frame) => onFrame(one) };
}

const soon = () => vi.advanceTimersByTimeAsync(1);
const second = () => vi.advanceTimersByTimeAsync(1100);

describe("a page whose server shows another run", () => {
  it("begins anew as soon as the new one has a picture, though it has fewer ticks", async () => {
    const { app, now, frame } = await opened({});
    expect(app.film.span.last).toBe(40);
    Object.assign(now, { run_id: "tuesday", first: 1, last: 2 });
    frame(frameOf(Kind.KEYFRAME, 2));
    await soon();
    expect(address.reload).toHaveBeenCalledTimes(1);
  });

  it("begins anew where nothing comes by itself", async () => {
    for (const growing of [true, false]) {
      address.reload.mockClear();
      const { now } = await opened({ growing }, "replay");
      await second();
      expect(address.reload).not.toHaveBeenCalled();
      now.run_id = "tuesday";
      await second();
      await second();
      expect(address.reload).toHaveBeenCalledTimes(1);
    }
  });

  it("keeps everything in its address but the tick, which is of the old run", async () => {
    const { app, now } = await opened({});
    app.step(-33);
    app.tab.value = "talk";
    app.sync(1000);
    app.sync(1400);
    expect(address.hash).toBe("#tick=7&tab=talk");
    now.run_id = "tuesday";
    await second();
    app.sync(5000);
    expect([address.hash, address.reload.mock.calls.length]).toEqual(["#tab=talk", 1]);
  });
});

describe("a page whose run goes on", () => {
  it("stays as it is while the world is away and when it is back", async () => {
    const { app, now, frame } = await opened({});
    frame(frameOf(Kind.TICK, 41));
    Object.assign(now, { connected: false });
    await second();
    expect(app.connected.value).toBe(false);
    Object.assign(now, { connected: true, last: 43 });
    frame(frameOf(Kind.KEYFRAME, 43));
    await second();
    expect([app.film.span.first, app.film.span.last, app.connected.value]).toEqual([1, 43, true]);
    expect([app.film.has(40), address.reload.mock.calls.length]).toEqual([true, 0]);
  });

  it("stays as it is before a viewer that was started again and has not found the world yet", async () => {
    const { app, now } = await opened({});
    Object.assign(now, { run_id: "", first: 0, last: -1, connected: false });
    await second();
    expect([app.film.span.first, app.film.span.last, app.connected.value]).toEqual([1, 40, false]);
    expect(address.reload).not.toHaveBeenCalled();
  });

  it("is not asked again in a clip", async () => {
    const { asked } = await opened({ growing: false, live: false }, "clip");
    await second();
    expect(asked.spans).toBe(1);
  });
});

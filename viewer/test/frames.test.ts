import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FrameError, unpack } from "../src/frames/layout";
import { Scene, resultOf } from "../src/frames/scene";
import { World } from "../src/frames/world";
import { between, seenFrom } from "../src/film/sight";
import { Film } from "../src/film/film";
import type { Source } from "../src/film/source";

/** What the Python side wrote down: frames, and what is true at each tick. */
interface Truth {
  ticks: { x: number[]; y: number[]; facing: number[]; status: number[]; state: number[]; things: [number[], number[]]; results: Record<string, [number, number]> }[];
  seen: { tick: number; row: number; tiles: [number, number][] }[];
}

const folder = process.env.VIEWER_FRAMES ?? "";
const given = folder !== "" && existsSync(`${folder}/frames.bin`);

function frames() {
  const bytes = readFileSync(`${folder}/frames.bin`);
  return unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer);
}

/** One of the numbers that lie beside each other for each actor. */
const column = (all: Int16Array | Uint8Array, each: number, place: number) => [...all].filter((_, at) => at % each === place);

const truth = (): Truth => JSON.parse(readFileSync(`${folder}/truth.json`, "utf8"));

describe.skipIf(!given)("frames that Python wrote", () => {
  it("give the same world at every tick", () => {
    const [hello, key, ...ticks] = frames();
    const scene = new Scene(new World(hello));
    scene.reset(key);
    truth().ticks.forEach((expected, at) => {
      scene.apply(ticks[at]);
      expect(column(scene.places, 2, 0)).toEqual(expected.x);
      expect(column(scene.places, 2, 1)).toEqual(expected.y);
      expect(column(scene.looks, 4, 0)).toEqual(expected.facing);
      expect(column(scene.looks, 4, 1)).toEqual(expected.status);
      expect([...scene.thingState]).toEqual(expected.state);
      expect([[...scene.thingX], [...scene.thingY]]).toEqual(expected.things);
      for (let row = 0; row < scene.world.actors; row += 1) {
        const result = resultOf(ticks[at], row, scene.world.actors);
        expect(result && [result.action, result.reason]).toEqual(expected.results[row] ?? null);
      }
    });
  });

  it("show what the world lets somebody see", () => {
    const [hello, key, ...ticks] = frames();
    const scene = new Scene(new World(hello));
    scene.reset(key);
    const { seen } = truth();
    for (const frame of ticks) {
      scene.apply(frame);
      for (const { tick, row, tiles } of seen) {
        if (tick === scene.tick) expect(seenFrom(scene, scene.xOf(row), scene.yOf(row))).toEqual(tiles);
      }
    }
  });

  it("can be shown in any order, with everybody on the way from the tick before", async () => {
    const [hello, ...rest] = frames();
    const source = { window: async () => rest } as unknown as Source;
    const film = new Film(new World(hello), source);
    const last = rest.length - 1;
    film.span = { run_id: "r", first: 1, last, growing: false, connected: true, live: false };
    await film.need(1);
    const { ticks } = truth();
    for (const tick of [last, 1, 7, 8, 3, last - 1, 2]) {
      film.show(tick);
      expect(film.scene.tick).toBe(tick);
      expect(column(film.scene.places, 2, 0)).toEqual(ticks[tick - 1].x);
      if (tick > 1) expect(column(film.scene.before, 2, 0)).toEqual(ticks[tick - 2].x);
    }
  });
});

describe("bytes that are no frame", () => {
  it("are refused", () => {
    expect(() => unpack(new ArrayBuffer(10))).toThrow(FrameError);
    expect(() => unpack(new Uint8Array([9, ...new Array<number>(31).fill(0)]).buffer)).toThrow(/version 9/);
    const cut = new Uint8Array(32);
    cut.set([1, 3, 1, 0, 64]);
    expect(() => unpack(cut.buffer)).toThrow(FrameError);
  });
});

describe("lines", () => {
  it("go tile by tile, without their ends", () => {
    expect(between(0, 0)).toEqual([]);
    expect(between(3, 0)).toEqual([
      [1, 0],
      [2, 0],
    ]);
    expect(between(-2, -2)).toEqual([[-1, -1]]);
  });
});

import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { flipOf, layerOf, placeIn } from "../src/draw/tile_art";

const SET = { first: 10, count: 6, columns: 3, width: 16, height: 8, margin: 1, spacing: 2, image: "" };

function packed(...gids: number[]): string {
  return deflateSync(new Uint8Array(Uint32Array.from(gids).buffer)).toString("base64");
}

/** Where a corner of a tile comes to lie, seen from its middle. */
function moved(gid: number, x: number, y: number): [number, number] {
  const [a, b, c, d] = flipOf(gid);
  return [a * x + c * y, b * x + d * y];
}

describe("a map from Tiled", () => {
  it("has the tiles of its layers, flips and all", async () => {
    expect([...(await layerOf(packed(1, 0, 0xe0000003), 3))]).toEqual([1, 0, 0xe0000003]);
  });

  it("is refused with more or fewer tiles than it is large", async () => {
    await expect(layerOf(packed(1, 2, 3), 2)).rejects.toThrow("more tiles");
    await expect(layerOf(packed(1, 2, 3), 4)).rejects.toThrow("fewer tiles");
    await expect(layerOf(deflateSync(new Uint8Array(5_000_000)).toString("base64"), 4)).rejects.toThrow("more tiles");
    await expect(layerOf("AAAA", 4)).rejects.toThrow();
  });

  it("finds tiles in the image by margin and spacing", () => {
    expect(placeIn(SET, 10)).toEqual([1, 1]);
    expect(placeIn(SET, 14)).toEqual([19, 11]);
    expect(placeIn(SET, 9)).toBeNull();
    expect(placeIn(SET, 16)).toBeNull();
  });

  it("flips and rotates tiles as Tiled does", () => {
    expect(moved(1, -1, -1)).toEqual([-1, -1]);
    expect(moved(0x80000001, -1, -1)).toEqual([1, -1]);
    expect(moved(0x40000001, -1, -1)).toEqual([-1, 1]);
    expect(moved(0xa0000001, -1, -1)).toEqual([1, -1]); // rotated clockwise: the upper left goes to the upper right
    expect(moved(0xa0000001, 1, -1)).toEqual([1, 1]);
    expect(moved(0x60000001, -1, -1)).toEqual([-1, 1]); // and counterclockwise
  });
});

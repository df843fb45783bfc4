import { describe, expect, it } from "vitest";
import { MOST_SIGNS, signsOf } from "../src/draw/sprites";

const cellsOf = (cells: Uint8Array) => [...cells].filter((_, at) => at % 4 === 0);

describe("signs of characters", () => {
  it("have one cell each, however many characters share them", () => {
    const { signs, cells } = signsOf({ 0: { sprite: "A" }, 2: { sprite: "🐕" }, 3: { sprite: "A" }, 4: { name: "Bo" } }, 5);
    expect(signs).toEqual(["A", "🐕"]);
    expect(cellsOf(cells)).toEqual([1, 0, 2, 1, 0]);
  });

  it("are none where nobody has one", () => {
    expect(signsOf({}, 0)).toEqual({ signs: [], cells: new Uint8Array(4) });
  });

  it("leave out those that have no room on the sheet", () => {
    const people = Object.fromEntries([...Array(300).keys()].map((row) => [row, { sprite: String.fromCodePoint(0x4e00 + row) }]));
    const { signs, cells } = signsOf(people, 300);
    expect(signs.length).toBe(MOST_SIGNS);
    expect(cellsOf(cells).slice(253, 257)).toEqual([254, 255, 0, 0]);
  });
});

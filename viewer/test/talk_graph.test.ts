/** Who talks with whom: a line counts for whom it names, else for who spoke before. */

import { expect, test } from "vitest";
import { pairsOf } from "../src/panels/talk_graph";

const NAMES = ["Ada", "Bo", "Cy", "Di"];
const talk = (...lines: [row: number, text: string][]) => ({
  key: "1 0",
  rows: [...new Set(lines.map(([row]) => row))],
  lines: lines.map(([row, text], tick) => ({ row, text, tick })),
});
const pairs = (...talks: ReturnType<typeof talk>[]) => pairsOf(talks, (row) => NAMES[row]).map(({ one, other, lines }) => [one, other, lines]);

test("two who take turns are one pair, counted from the answer on", () => {
  expect(pairs(talk([0, "Good day!"], [1, "Good day!"], [0, "How are you?"]))).toEqual([[0, 1, 2]]);
});

test("a line counts for whom it names, though another spoke between", () => {
  expect(pairs(talk([0, "Hello, Bo!"], [2, "Fish!"], [1, "Hello, Ada!"]))).toEqual([
    [0, 1, 2],
    [0, 2, 1],
  ]);
});

test("who talks to nobody is in no pair", () => {
  expect(pairs(talk([3, "Fish! Fish!"], [3, "Fresh fish!"]))).toEqual([]);
});

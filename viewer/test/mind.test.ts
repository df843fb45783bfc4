import { describe, expect, it } from "vitest";
import { mindAt, shownValue, sourceOf, type Insight } from "../src/frames/mind";

const insight = (tick: number, more: Partial<Insight>): Insight => ({
  tick,
  whole: false,
  tree: [],
  ran: null,
  board: [],
  gone: [],
  memories: [],
  ...more,
});

const REPORT = {
  needs: [],
  insights: [
    insight(5, {
      whole: true,
      tree: [
        [0, "Selector"],
        [1, "eat"],
      ],
      ran: [1, 1],
      board: [
        ["goal", '"eat"'],
        ["__proto__", "1"],
      ],
      memories: [[2, "I met Bob.", "bob", 0.5, "heard", "ada", 3, 1, []]],
    }),
    insight(7, { ran: [3, 2], board: [["goal", '"rest"']], gone: ["__proto__"] }),
    insight(9, {
      memories: [
        [9, "It rained.", "", 0.1],
        [9, "I met Bob.", "bob", 0.5],
      ],
    }),
  ],
};

describe("a mind", () => {
  it("is what was told up to a tick", () => {
    expect(mindAt(REPORT, 4)).toBeNull();
    const early = mindAt(REPORT, 6);
    expect(early?.board).toEqual([
      { key: "goal", json: '"eat"', tick: 5 },
      { key: "__proto__", json: "1", tick: 5 },
    ]);
    const later = mindAt(REPORT, 8);
    expect(later?.tree.map((node) => node.ran)).toEqual([3, 2]);
    expect(later?.board).toEqual([{ key: "goal", json: '"rest"', tick: 7 }]);
  });

  it("remembers the newest first, and each thing once", () => {
    const memories = mindAt(REPORT, 20)?.memories;
    expect(memories?.map((memory) => [memory.tick, memory.text])).toEqual([
      [9, "I met Bob."],
      [9, "It rained."],
    ]);
  });

  it("says where a memory comes from", () => {
    expect(mindAt(REPORT, 5)?.memories[0]?.source).toBe("told by ada, 3 times");
    expect(mindAt(REPORT, 5, (id) => (id === "ada" ? "Ada" : id))?.memories[0]?.source).toBe("told by Ada, 3 times");
    expect(mindAt(REPORT, 20)?.memories.map((memory) => memory.source)).toEqual(["", ""]);
    expect(sourceOf("", 1, [3, 5])).toBe("follows from 2 memories");
  });

  it("shows texts as they are and everything else in words", () => {
    expect(shownValue('"<b>word</b>"')).toBe("<b>word</b>");
    expect(shownValue('{"a":[1]}')).toBe("a: 1");
  });
});

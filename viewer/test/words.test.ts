/** Deeds in sentences: what changed hands, where, and why something failed. */

import { expect, test } from "vitest";
import { activeBranch, shownValue, textOf, type TreeNode } from "../src/frames/mind";
import type { World } from "../src/frames/world";
import { sentence } from "../src/words";

const world = {
  info: { actions: ["Wait", "Move", "Use", "Buy", "Give", "Pickup", "Interact"], reasons: ["", "tile_contested", "too_far"] },
  targetName: (id: string) => ({ "stall:1": "the stall", ada: "Ada" })[id] ?? id,
} as unknown as World;
const result = (action: string, reason = 0, direction = -1) => ({ action: world.info.actions.indexOf(action), reason, direction });

test.each([
  [result("Use"), "", [["inventory.bread", -1], ["hunger", -350]], ["eats 1 bread", "hunger -350"]],
  [result("Use"), "", [["inventory.salve", -1], ["health", 5]], ["uses 1 salve", "health +5"]],
  [result("Buy"), "stall:1", [["inventory.bread", 1], ["inventory.coin", -2]], ["buys 1 bread at the stall", "-2 coin"]],
  [result("Give"), "ada", [["inventory.fish", -2]], ["gives 2 fish to Ada", ""]],
  [result("Pickup"), "", [["inventory.berries", 3]], ["gathers 3 berries", ""]],
  [result("Move", 1, 2), "", [], ["can't go east: another went there first", ""]],
  [result("Give", 2), "ada", [], ["can't give to Ada: too far", ""]],
  [result("Wait"), "", [], ["waits", ""]],
] as const)("a deed is a sentence (%#)", (what, target, effects, words) => {
  expect(sentence(world, what, target, effects as never)).toEqual(words);
});

test("values of a Blackboard are words, never JSON", () => {
  expect(shownValue('{"text":"buy fish","at":[3,4],"late":false}')).toBe("text: buy fish; at: (3, 4); late: no");
  expect(shownValue("null")).toBe("nothing");
  expect(shownValue('[[[[[[1]]]]]]')).toContain("…");
  expect(textOf('"calm"')).toBe("calm");
  expect(textOf("3")).toBe("");
  expect(textOf(undefined)).toBe("");
});

test("the active branch is the way to what goes on, without its failed siblings", () => {
  const tree: TreeNode[] = [
    [0, "root", 3],
    [1, "asleep", 2],
    [2, "asleep?", 2],
    [1, "eat", 3],
    [2, "hungry?", 1],
    [2, "go to food", 3],
    [1, "work", 0],
  ].map(([depth, text, ran]) => ({ depth, text, ran }) as TreeNode);
  expect(activeBranch(tree).map(({ text }) => text)).toEqual(["root", "eat", "go to food"]);
  expect(activeBranch(tree.slice(1, 3)).map(({ text }) => text)).toEqual(["asleep", "asleep?"]);
});

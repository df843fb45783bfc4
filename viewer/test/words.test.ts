/** Deeds in sentences: what changed hands, where, and why something failed. */

import { expect, test } from "vitest";
import { activeBranch, shownValue, textOf, type TreeNode } from "../src/frames/mind";
import type { World } from "../src/frames/world";
import { errand } from "../src/panels/inner_life";
import { percent, sentence, zonePhrase } from "../src/words";

const world = {
  info: {
    actions: ["Wait", "Move", "Use", "Buy", "Give", "Pickup", "Interact", "Offer"],
    reasons: ["", "tile_contested", "too_far"],
    items: ["bread", "coin", "axe", "fish", "berries"],
    item_words: [["bread", "bread"], ["a coin", "coins"], ["an axe", "axes"], ["fish", "fish"], ["berries", "berries"]],
    own_needs: ["health"],
  },
  targetName: (id: string) => ({ "stall:1": "the stall", ada: "Ada" })[id] ?? id,
} as unknown as World;
const result = (action: string, reason = 0, direction = -1) => ({ action: world.info.actions.indexOf(action), reason, direction });

test.each([
  [result("Use"), "", [["inventory.bread", -1], ["hunger", -350]], ["eats bread", "hunger -35 %"]],
  [result("Use"), "", [["inventory.salve", -1], ["health", 50]], ["uses salve", "health +5 %"]],
  [result("Buy"), "stall:1", [["inventory.bread", 1], ["inventory.coin", -2]], ["buys bread at the stall", "-2 coins"]],
  [result("Give"), "ada", [["inventory.fish", -2]], ["gives 2 fish to Ada", ""]],
  [result("Pickup"), "", [["inventory.berries", 3]], ["gathers 3 berries", ""]],
  [result("Pickup"), "", [["inventory.berries", 1]], ["gathers berries", ""]],
  [result("Interact"), "stall:1", [["inventory.axe", 1], ["work_remaining", 0]], ["makes an axe at the stall", "done"]],
  [result("Interact"), "", [["inventory.axe", 2], ["inventory.coin", -1]], ["makes 2 axes", "-1 coin"]],
  [result("Offer"), "ada", [["offers.axe", 1], ["wants.coin", 3]], ["makes an offer to Ada", "offers an axe, wants 3 coins"]],
  [result("Move", 1, 2), "", [], ["can't go east: another went there first", ""]],
  [result("Give", 2), "ada", [], ["can't give to Ada: too far", ""]],
  [result("Wait"), "", [], ["waits", ""]],
] as const)("a deed is a sentence (%#)", (what, target, effects, words) => {
  expect(sentence(world, what, target, effects as never)).toEqual(words);
});

test("an errand has its place, and those to meet people say so", () => {
  expect(errand("meet")).toBe("meet people, anywhere");
  expect(errand("meet at inn")).toBe("meet people at the inn");
  expect(errand("make bread at Ada's house")).toBe("make bread at Ada's house");
  expect(errand("fetch berries")).toBe("fetch berries");
});

test("a zone has its article, and one with a name of its own none", () => {
  expect(zonePhrase("old_mill")).toBe("the old mill");
  expect(zonePhrase("Ada's house")).toBe("Ada's house");
});

test("needs are a share of the whole", () => {
  expect(percent(979)).toBe("98 %");
  expect(percent(0)).toBe("0 %");
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

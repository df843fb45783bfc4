import { describe, expect, test } from "vitest";
import { chooseShirt, chooseTeam, hueOf, shirtOf } from "../src/draw/colours";

const isRed = ([red, green, blue]: number[]) => red > 2 * green && red > 2 * blue;

describe("the colour of a shirt", () => {
  test("is that of the team, and members can still be told apart", () => {
    for (const id of ["red:1", "red:2", "red:3", "red:4"]) chooseTeam(id, "", "red");
    expect(["red:1", "red:2", "red:3", "red:4"].every((id) => isRed(shirtOf(id)))).toBe(true);
    expect(new Set(["red:1", "red:2", "red:3", "red:4"].map((id) => shirtOf(id).join())).size).toBeGreaterThan(1);
  });

  test("comes from a named team before the type, and from its own colour before both", () => {
    chooseTeam("ann", "red foxes", "blue");
    expect(isRed(shirtOf("ann"))).toBe(true);
    chooseShirt("ann", "#0000ff");
    expect(shirtOf("ann")).toEqual([0, 0, 255]);
  });

  test("of who is in no team is its own", () => {
    const before = shirtOf("cleo");
    chooseTeam("cleo", "", "villager");
    expect(shirtOf("cleo")).toEqual(before);
  });

  test("is found in words and not inside of them", () => {
    expect(hueOf("red_home")).toBe(0);
    expect(hueOf("bored")).not.toBe(0);
  });
});

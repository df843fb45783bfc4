import { describe, expect, it } from "vitest";
import { Tag } from "../src/codes";
import { filmOf, notesOf } from "./making";

const ASKS = "deliberating";
const asking = (film: ReturnType<typeof filmOf>, tick: number) => [...film.states.asking(tick)].sort();

describe("who asks a model", () => {
  it("is known of a state that is told one tick late", () => {
    const film = filmOf(["a", "b"]);
    film.add(notesOf(0, Tag.HOLDING, []));
    expect(asking(film, 11)).toEqual([]);
    film.add(notesOf(12, Tag.STATES, [[11, 0, ASKS, ""]]));
    for (const tick of [12, 13, 40, 11]) expect(asking(film, tick)).toEqual([0]);
    film.add(notesOf(41, Tag.STATES, [[40, 0, "running", ""]]));
    expect([39, 40, 41, 11, 10].map((tick) => asking(film, tick).length)).toEqual([1, 0, 0, 1, 0]);
  });

  it("is known however long ago it began, from the beginning of the window", () => {
    const film = filmOf(["a", "b"]);
    film.add(notesOf(640, Tag.HOLDING, [[401, 1, ASKS, "for a plan"]]));
    expect(asking(film, 700)).toEqual([1]);
    expect(film.states.of(1, 700)).toMatchObject({ tick: 401, detail: "for a plan" });
    film.add(notesOf(704, Tag.STATES, [[690, 1, "running", ""]]));
    expect([689, 690].map((tick) => asking(film, tick).length)).toEqual([1, 0]);
    expect(film.states.of(1, 700)).toBeNull();
  });

  it("is not what was told before the window began and holds no longer", () => {
    const film = filmOf(["a"]);
    film.add(notesOf(0, Tag.HOLDING, []));
    film.add(notesOf(64, Tag.STATES, [[20, 0, ASKS, ""]]));
    expect(asking(film, 64)).toEqual([0]);
    film.add(notesOf(640, Tag.HOLDING, []));
    expect(asking(film, 660)).toEqual([]);
    expect(asking(film, 30)).toEqual([0]);
  });

  it("counts what was told after the beginning of a window of a tick before it", () => {
    const film = filmOf(["a"]);
    film.add(notesOf(64, Tag.HOLDING, []));
    film.add(notesOf(65, Tag.STATES, [[64, 0, ASKS, ""]]));
    for (const tick of [64, 65, 100]) expect(asking(film, tick)).toEqual([0]);
  });

  it("is not guessed where the beginning of a window is not at hand", () => {
    const film = filmOf(["a"]);
    film.add(notesOf(0, Tag.HOLDING, [[0, 0, ASKS, ""]]));
    expect(asking(film, 64)).toEqual([0]);
    expect(asking(film, 65)).toEqual([]);
    expect(film.states.of(0, 65)).toBeNull();
  });

  it("is the same set until others ask", () => {
    const film = filmOf(["a", "b"]);
    film.add(notesOf(0, Tag.HOLDING, [[0, 0, ASKS, ""]]));
    const before = film.states.asking(5);
    expect(film.states.asking(6)).toBe(before);
    film.add(notesOf(7, Tag.STATES, [[7, 0, "running", ""], [7, 1, ASKS, ""]]));
    expect(film.states.asking(6)).toBe(before);
    expect(film.states.asking(7)).not.toBe(before);
  });
});

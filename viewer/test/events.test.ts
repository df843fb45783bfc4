import { describe, expect, it, vi } from "vitest";
import { Kind, Tag } from "../src/codes";
import { EventLog, conversations, heardBy } from "../src/events";
import type { Film } from "../src/film/film";
import { Places } from "../src/film/places";
import { findActors } from "../src/find";
import { type Frame } from "../src/frames/layout";
import type { World } from "../src/frames/world";
import type { Filters } from "../src/hash";
import { filmOf, frameOf, keyframeOf, tickOf } from "./making";

const EAST = 2;
const WEST = 6;
const PICKUP = 2;
const ALL: Filters = { types: [], actor: "", region: null };
const WELL = { left: 0, top: 0, right: 12, bottom: 12 };

const said = (row: number, text: string, x: number, y: number) => ({ [Tag.SAID]: [[row, "local", text, x, y]] });
const did = (...rows: number[]) => ({
  [Tag.RESULT_ROWS]: Uint32Array.from(rows),
  [Tag.RESULT_CODES]: Uint8Array.from([...rows.map(() => PICKUP), ...rows.map(() => 0)]),
});
const logOf = (film: Film) => new EventLog(film, new Places(film));
const texts = (log: EventLog, filters: Filters, tick: number) => log.recent(filters, tick, 150).entries.map((entry) => entry.text);

/** Ann is at the well until she goes home in the east at tick 31; Bob comes to it from there with tick 30. */
function village(): Film {
  const film = filmOf(["ann", "bob"]);
  film.add(keyframeOf(0, [[10, 10], [40, 10]]));
  for (let tick = 1; tick <= 60; tick += 1) {
    const steps: Record<number, number> = tick > 30 ? { 0: EAST } : { 1: WEST };
    const more = tick === 5 ? { ...said(0, "Nobody is here.", 10, 10), ...did(0) } : tick === 30 ? said(0, "There you are!", 10, 10) : {};
    film.add(tickOf(tick, { steps, ...more }));
  }
  return film;
}

describe("what a character heard", () => {
  it("is what was said near where it was then, not where it is now", () => {
    const film = village();
    const heard = (row: number, tick: number) => heardBy(film, new Places(film), row, tick, 60, 6).map((line) => line.text);
    expect(heard(1, 30)).toEqual(["There you are!"]); // it has come, but was not there before
    expect(heard(0, 60)).toEqual(["There you are!", "Nobody is here."]);
    for (let tick = 61; tick <= 64; tick += 1) film.add(tickOf(tick, { put: { 1: [60, 60] } }));
    expect(heard(1, 64)).toEqual(["There you are!"]); // it has gone, and heard it all the same
  });
});

describe("the log of events", () => {
  it("asks where somebody was when it happened", () => {
    const log = logOf(village());
    const action: Filters = { types: ["action"], actor: "", region: WELL };
    expect(texts(log, action, 6)).toEqual(["picks up"]);
    expect(texts(log, action, 60)).toEqual(["picks up"]);
    expect(texts(log, { ...action, region: { left: 35, top: 0, right: 60, bottom: 60 } }, 60)).toEqual([]);
  });

  it("has decay among the changes of things, not among goals", () => {
    const film = filmOf(["ann", "bob"]);
    film.add(keyframeOf(0, [[10, 10], [40, 10]]));
    const log = logOf(film);
    film.add(tickOf(1, { [Tag.RULES]: [["decay", [0, 1], 0, false, false, "", [["inventory.bread", -1]]]] }));
    expect(texts(log, { ...ALL, types: ["goal"] }, 1)).toEqual([]);
    expect(texts(log, { ...ALL, types: ["object"] }, 1)).toEqual(["decay with bob (-1 bread)"]);
  });

  it("has amounts of items only among the changes of things, as a deed says them already", () => {
    const film = filmOf(["ann"]);
    film.add(keyframeOf(0, [[10, 10]]));
    film.add(tickOf(1, { ...did(0), [Tag.OBJECTS]: [[10, 10, 0, 3]] }));
    const log = logOf(film);
    expect(texts(log, ALL, 1)).toEqual(["picks up"]);
    expect(texts(log, { ...ALL, types: ["object"] }, 1)).toEqual(["3 berries on the ground"]);
  });

  it("has goals with who reached them, and what rules of the user's own did", () => {
    const film = filmOf(["ann", "bob"]);
    film.add(keyframeOf(0, [[10, 10], [40, 10]]));
    const rules = [
      ["both_out", [0, 1], 10, true, false, "", []],
      ["night_fall", [], 0, false, false, "", []],
      ["festival", [1], 3, false, true, "for the bread", [["inventory.coin", 2]]],
    ];
    film.add(tickOf(1, { [Tag.RULES]: rules }));
    const log = logOf(film);
    expect(texts(log, { ...ALL, types: ["goal"] }, 1)).toEqual([
      "festival: for the bread (+3, +2 coin)",
      "goal reached: night fall",
      "reached both out with bob (+10 each); the run is over",
    ]);
    expect(log.recent({ ...ALL, types: ["goal"] }, 1, 9).entries.map((entry) => entry.row)).toEqual([1, -1, 0]);
    expect(texts(log, { ...ALL, types: ["goal"], actor: "ann" }, 1)).toEqual(["reached both out with bob (+10 each); the run is over"]);
  });

  it("ends where it is not known who was in the region", () => {
    const film = filmOf(["ann"]);
    for (let tick = 1; tick <= 9; tick += 1) film.add(tickOf(tick, did(0)));
    expect(logOf(film).recent({ ...ALL, region: WELL }, 9, 150)).toEqual({ entries: [], from: 9, more: false });
    film.add(keyframeOf(4, [[1, 1]]));
    expect(logOf(film).recent({ ...ALL, region: WELL }, 9, 150)).toMatchObject({ from: 3 });
  });

  it("keeps the key of everything that stays in the list", () => {
    const film = filmOf(["ann", "bob"]);
    film.add(keyframeOf(0, [[1, 1], [2, 2]]));
    for (let tick = 1; tick <= 300; tick += 1) film.add(tickOf(tick, did(0, 1)));
    const log = logOf(film);
    const before = log.recent(ALL, 200, 150).entries;
    const after = log.recent(ALL, 201, 150).entries;
    expect(new Set(after.map((entry) => entry.key)).size).toBe(150);
    expect(after.slice(2).map((entry) => entry.key)).toEqual(before.slice(0, -2).map((entry) => entry.key));
    film.add(frameOf(Kind.NOTES, 202, { [Tag.THOUGHTS]: [{ tick: 200, row: 0, brief: "late", model: "m", error_type: "" }] }));
    const later = log.recent(ALL, 201, 150).entries;
    expect(later.map((entry) => entry.text).filter((text) => text === "late")).toHaveLength(1);
    expect(later.filter((entry) => entry.text !== "late").map((entry) => entry.key)).toEqual(after.slice(0, -1).map((entry) => entry.key));
  });

  it("looks through a tick once, and puts into words only what passes", () => {
    const film = village();
    const reads: number[] = [];
    for (let tick = 1; tick <= 60; tick += 1) {
      const frame = film.tickFrame(tick) as Frame;
      const json = frame.json.bind(frame);
      vi.spyOn(frame, "json").mockImplementation((tag, none) => {
        reads.push(tag);
        return json(tag, none);
      });
    }
    const log = logOf(film);
    const wanted: Filters = { types: ["action"], actor: "bob", region: null };
    expect(texts(log, wanted, 60)).toEqual([]);
    expect(reads).toEqual([]);
    const actions: Filters = { types: ["action"], actor: "", region: null };
    for (let times = 0; times < 5; times += 1) expect(texts(log, actions, 60)).toEqual(["picks up"]);
    expect(reads).toEqual([Tag.DETAILS]);
  });

  it("looks through a crowd's past in pieces, and through all of it in the end", () => {
    const film = filmOf(["ann"]);
    film.add(keyframeOf(0, [[1, 1]]));
    const filler = new Uint8Array(100_000);
    for (let tick = 1; tick <= 100; tick += 1) film.add(tickOf(tick, { [Tag.STATUS]: filler, ...(tick === 3 ? did(0) : {}) }));
    const log = logOf(film);
    const filters: Filters = { types: ["action"], actor: "", region: null };
    const ends: number[] = [];
    let found = log.recent(filters, 100, 150);
    for (; found.more; found = log.recent(filters, 100, 150)) ends.push(found.from);
    expect(ends).toEqual(Array.from({ length: 33 }, (_, at) => 100 - 3 * (at + 1)));
    expect(found.entries.map((entry) => entry.tick)).toEqual([3]);
    film.add(tickOf(101));
    expect(log.recent(filters, 101, 150)).toMatchObject({ more: false, from: 0 });
  });

  it("finds the failed step of one of many", () => {
    const crowd = Array.from({ length: 200 }, (_, row) => `entity:${row}`);
    const film = filmOf(crowd);
    film.add(keyframeOf(0, crowd.map((_, row) => [row, 1] as [number, number])));
    const rows = Uint32Array.from(crowd, (_, row) => row);
    film.add(frameOf(Kind.TICK, 1, { [Tag.STEP_ROWS]: rows, [Tag.STEP_CODES]: new Uint8Array(200).fill(9) }));
    const log = logOf(film);
    expect(log.recent(ALL, 1, 150).entries).toHaveLength(31);
    const one = log.recent({ ...ALL, actor: "entity:150" }, 1, 150).entries;
    expect(one.map((entry) => entry.row)).toEqual([150]);
    const few = log.recent({ ...ALL, region: { left: 100, top: 0, right: 104, bottom: 9 } }, 1, 150).entries;
    expect(few.map((entry) => entry.row)).toEqual([104, 103, 102, 101, 100]);
  });
});

describe("conversations", () => {
  it("stay the same ones while time goes on", () => {
    const film = filmOf(["ann", "bob"]);
    for (let tick = 1; tick <= 700; tick += 1) film.add(tickOf(tick, tick % 5 ? {} : said((tick / 5) % 2, `line ${tick}`, 3, 3)));
    const keys = (tick: number) => conversations(film, tick, 30).map((one) => one.key);
    for (let tick = 601; tick < 700; tick += 7) expect(keys(tick)).toEqual(keys(601));
  });
});

describe("finding a character", () => {
  const ids = ["entity:10", "entity:11", "entity:1", "an entity:1 too", "Ann"];
  const world = { actors: ids.length, actorIds: ids, nameOf: (row: number) => ids[row] } as unknown as World;

  it("puts the very name first, then names that begin so", () => {
    expect(findActors(world, "entity:1", 8)).toEqual([2, 0, 1, 3]);
    expect(findActors(world, "entity:1", 2)).toEqual([2, 0]);
    expect(findActors(world, " aNN ", 8)).toEqual([4]);
    expect(findActors(world, "", 8)).toEqual([]);
  });
});

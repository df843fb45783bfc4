import { describe, expect, it } from "vitest";
import { Kind, Tag } from "../src/codes";
import { Camera2d } from "../src/draw/view";
import { Player } from "../src/film/player";
import { CoupledCameras, FollowingPlayer, forkOf } from "../src/lab/beside";
import { differencesAt, onlySaid } from "../src/lab/differences";
import { baseOf, LabDoor, type InterviewStep, type RunRow } from "../src/lab/door";
import type { Film } from "../src/film/film";
import { filmOf, frameOf, keyframeOf } from "./making";

const row = (run_id: string, parent = "", branched_at: number | null = null): RunRow => ({
  run_id,
  parent,
  branched_at,
  changes: [],
  state: "clean",
  ticks: 100,
  world: "w",
  problem: "",
  depth: 0,
  related: true,
});

describe("the common past of two runs", () => {
  const rows = [row("a"), row("b", "a", 40), row("c", "b", 60), row("d", "b", 20), row("e", "a", 70), row("other")];

  it("ends where the later one branched off", () => {
    expect(forkOf(rows, "a", "b")).toBe(40);
    expect(forkOf(rows, "c", "a")).toBe(40);
    expect(forkOf(rows, "c", "b")).toBe(60);
  });

  it("is that of both with the run that they share", () => {
    expect(forkOf(rows, "c", "d")).toBe(20);
    expect(forkOf(rows, "c", "e")).toBe(40);
  });

  it("is not known of runs that share none, nor in a circle", () => {
    expect(forkOf(rows, "a", "other")).toBeNull();
    expect(forkOf([row("x", "y", 3), row("y", "x", 4)], "x", "z")).toBeNull();
  });
});

function reaching(last: number, reach = last): Film {
  return {
    span: { run_id: "r", first: 1, last, growing: false, connected: true, live: false },
    world: { info: { tick_ms: 1000 } },
    reaches: (tick: number) => tick <= reach,
    need: async () => {},
  } as unknown as Film;
}

describe("the playhead of the second run", () => {
  it("follows the first one, and stays where it is until its frames are there", () => {
    const lead = new Player(reaching(50));
    const film = reaching(50, 20);
    const player = new FollowingPlayer(film, lead);
    lead.position = 7.5;
    expect([player.advance(), player.position, player.tick]).toEqual([true, 7.5, 8]);
    lead.position = 30;
    expect([player.advance(), player.position, player.waiting]).toEqual([false, 7.5, true]);
    film.reaches = () => true;
    expect([player.advance(), player.position, player.waiting]).toEqual([true, 30, false]);
  });

  it("stops at its own end", () => {
    const lead = new Player(reaching(50));
    const player = new FollowingPlayer(reaching(12), lead);
    lead.position = 40;
    player.advance();
    expect(player.tick).toBe(12);
  });
});

it("two cameras go to the same place, whichever of them is moved", () => {
  const [one, other] = [new Camera2d(100, 100, 400, 300), new Camera2d(100, 100, 400, 300)];
  const cameras = new CoupledCameras(one, other);
  one.go(30, 40, 20, true);
  expect(cameras.couple()).toBe(true);
  expect([other.x, other.y, other.scale]).toEqual([30, 40, 20]);
  other.pan(-200, 0);
  expect(cameras.couple()).toBe(true);
  expect([one.x, one.y]).toEqual([40, 40]);
  expect(cameras.couple()).toBe(false);
});

const said = (tick: number, sayings: [number, string, string, number, number][]) => frameOf(Kind.TICK, tick, { [Tag.SAID]: sayings });

function filmWith(places: [number, number][], sayings: [number, string, string, number, number][]): Film {
  const film = filmOf(["ada", "bram"]);
  Object.assign(film.world, { zoneAt: () => undefined, kindOf: () => undefined });
  film.add(keyframeOf(4, places));
  film.add(said(5, sayings));
  film.show(5);
  return film;
}

describe("what differs at a tick", () => {
  it("is who stands elsewhere, and nobody else", () => {
    const one = filmWith([[1, 1], [5, 5]], []);
    const other = filmWith([[1, 1], [6, 5]], []);
    expect(differencesAt(one, other)).toEqual([{ row: 1, name: "", here: "(5, 5)", there: "(6, 5)" }]);
    expect(differencesAt(one, one)).toEqual([]);
  });

  it("is what was said in one of the runs only", () => {
    const one = filmWith([[1, 1], [5, 5]], [[0, "say", "Hello.", 1, 1], [1, "say", "Good day.", 5, 5]]);
    const other = filmWith([[1, 1], [5, 5]], [[0, "say", "Hello.", 1, 1], [1, "say", "Fire!", 5, 5]]);
    expect(onlySaid(one, other, 5)).toEqual([
      { tick: 5, row: 1, text: "Good day.", here: true },
      { tick: 5, row: 1, text: "Fire!", here: false },
    ]);
    expect(onlySaid(one, other, 9)).toBeNull();
  });
});

it("an interview is read step by step, however the answer is cut", async () => {
  const lines = `${JSON.stringify({ state: "asked" })}\n${JSON.stringify({ part: "Grüß" })}\n`;
  const bytes = new TextEncoder().encode(lines);
  const asked: [string, RequestInit | undefined][] = [];
  const door = new LabDoor(async (path, init) => {
    asked.push([path, init]);
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        for (const byte of bytes) control.enqueue(Uint8Array.of(byte));
        control.close();
      },
    });
    return new Response(body);
  });
  const steps: InterviewStep[] = [];
  for await (const step of door.interview("ada", 7, "Why?", new AbortController().signal)) steps.push(step);
  expect(steps).toEqual([{ state: "asked" }, { part: "Grüß" }]);
  expect(asked[0][0]).toBe("interview?tick=7");
  expect(asked[0][1]?.body).toBe(JSON.stringify({ who: "ada", question: "Why?" }));
});

it("another run answers below its own address", () => {
  expect([baseOf(""), baseOf("a b/c")]).toEqual(["", "/run/a%20b%2Fc"]);
});

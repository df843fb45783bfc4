import { describe, expect, it } from "vitest";
import { wayOf } from "../src/keys";
import { intentFrame, openFrame, readFrame, type Socket } from "../src/play/door";
import { momentOf, rulesOf, type Moment } from "../src/play/frames";
import { Game, type Timers } from "../src/play/game";
import { menuOf, offerTo, pockets, why } from "../src/play/menu";
import { distance, firstStep, Known, tileBox } from "../src/play/path";

/** A window of 5 x 5 tiles around (10, 10) in sight, of which some can't be stepped on. */
function observationOf({ walls = [] as [number, number][], tick = 7, x = 10, y = 10, ...more }: Record<string, unknown> & { walls?: [number, number][]; tick?: number; x?: number; y?: number } = {}) {
  const radius = 2;
  const side = 2 * radius + 1;
  const visible = new Uint8Array(4).fill(255);
  const walkable = new Uint8Array(4).fill(255);
  for (const [wallX, wallY] of walls) {
    const at = (wallY - y + radius) * side + wallX - x + radius;
    walkable[at >> 3] &= ~(1 << (at & 7));
  }
  const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
  return {
    tickId: String(tick),
    deadlineMs: 400,
    me: { entityId: "bo", x, y, facing: "DIRECTION_E", inventory: [{ kind: "coin", quantity: "5" }], energy: 900 },
    visibleTiles: { radius, centreX: x, centreY: y, visible: base64(visible), walkable: base64(walkable) },
    ...more,
  };
}

const STALL = { objectId: "stall:1", kind: "bread_stall", x: 11, y: 10, state: "default", owner: "ada" };
const SHELF = { objectId: "ground:11,10", kind: "ground", x: 11, y: 10, items: [{ kind: "bread", quantity: "8" }] }; // what the stall holds
const OPENED = {
  lease: { leaseId: "secret", entityId: "bo", controllerId: "person:1", epoch: "5", ttlMs: 8000 },
  kinds: [
    { name: "bread_stall", states: [{ name: "default" }], container: { holds: 60, sells: [{ item: "bread", price: [{ item: "coin", amount: "2" }] }] } },
    { name: "chest", states: [{ name: "default" }], container: { holds: 9 } },
    { name: "tree", states: [{ name: "standing", actions: [{ verb: "chop", needs: [{ item: "axe", amount: "1" }], yields: [{ item: "wood", amount: "2" }] }] }] },
  ],
  items: [{ name: "bread", use: [{ need: "hunger", by: -400 }] }, { name: "coin" }],
};
const RULES = rulesOf(OPENED);
const name = (id: string) => (id === "ada" ? "Ada" : id);
const words = (moment: Moment) => menuOf(moment, RULES, name).flatMap((group) => group.choices.map((one) => `${group.title}: ${one.words}${one.missing ? ` (${one.missing})` : ""}`));

describe("what is perceived", () => {
  it("has zeros and empty lists where they were left out", () => {
    const moment = momentOf({ tickId: "3", me: { entityId: "bo" } });
    expect(moment.me).toMatchObject({ id: "bo", x: 0, y: 0, status: 0, inventory: [], hunger: 0 });
    expect([moment.tick, moment.people, moment.things, moment.heard, moment.outcome]).toEqual([3, [], [], [], null]);
  });

  it("reads large numbers, masks, sayings and outcomes", () => {
    const moment = momentOf(
      observationOf({
        walls: [[11, 10]],
        events: [{ moved: { entityId: "ada" } }, { heard: { speakerId: "ada", text: "<b>hi</b>" } }],
        result: { actionType: "ACTION_TYPE_BUY", reason: "REASON_TOO_FAR", targetId: "stall:1" },
      }),
    );
    const known = new Known();
    known.note(moment);
    expect([known.isWalkable(11, 10), known.isWalkable(9, 10), known.isWalkable(30, 10)]).toEqual([false, true, false]);
    expect(moment.heard).toEqual([{ who: "ada", text: "<b>hi</b>" }]);
    expect(moment.outcome).toMatchObject({ action: "BUY", ok: false, reason: "too_far" });
  });
});

describe("the menu", () => {
  it("sells what the stall beside one has, for what one can pay", () => {
    const here = momentOf(observationOf({ visibleObjects: [STALL, SHELF] }));
    expect(words(here)).toContain("Bread stall: Buy bread");
    here.me.inventory[0].quantity = 1;
    expect(words(here)).toContain("Bread stall: Buy bread (You need 2 coin)");
    here.things[1].items = [];
    expect(words(here)).toContain("Bread stall: Buy bread (Sold out)");
    expect(words(here).join()).not.toContain("On the ground");
  });

  it("offers nothing of what is out of reach, and no more than buying at a stall of another one", () => {
    expect(words(momentOf(observationOf({ visibleObjects: [{ ...STALL, x: 12 }] }))).filter((one) => one.startsWith("Bread"))).toEqual([]);
    const own = momentOf(observationOf({ visibleObjects: [{ ...STALL, owner: "bo" }, SHELF] }));
    expect(words(own)).toEqual(expect.arrayContaining(["Bread stall: Take bread", "Bread stall: Put in coin"]));
    expect(words(own)).not.toContain("Bread stall: Buy bread");
    expect(words(momentOf(observationOf({ visibleObjects: [STALL, SHELF] })))).not.toContain("Bread stall: Take bread");
  });

  it("trades at a stall that belongs to nobody, and takes nothing out of it for nothing", () => {
    const free = words(momentOf(observationOf({ visibleObjects: [{ ...STALL, owner: "" }, SHELF] })));
    expect(free.filter((one) => one.startsWith("Bread stall"))).toEqual(["Bread stall: Buy bread"]);
    const chest = { ...STALL, objectId: "chest:1", kind: "chest", owner: "" };
    expect(words(momentOf(observationOf({ visibleObjects: [chest, SHELF] })))).toEqual(expect.arrayContaining(["Chest: Take bread", "Chest: Put in coin"]));
  });

  it("names the tools that work takes", () => {
    const tree = { objectId: "tree:1", kind: "tree", x: 10, y: 9, state: "standing", verbs: ["chop"] };
    expect(words(momentOf(observationOf({ visibleObjects: [tree] })))).toContain("Tree: Chop (You need 1 axe)");
  });

  it("has what lies on one's own tile only", () => {
    const ground = { objectId: "ground:10,10", kind: "ground", x: 10, y: 10, items: [{ kind: "bread", quantity: "1" }] };
    expect(words(momentOf(observationOf({ visibleObjects: [ground] })))).toContain("On the ground: Pick up bread");
    expect(words(momentOf(observationOf({ visibleObjects: [{ ...ground, x: 11 }] }))).join()).not.toContain("Pick up");
  });

  it("gives to people beside one, and accepts their offers", () => {
    const here = momentOf(
      observationOf({ visibleEntities: [{ entityId: "ada", x: 11, y: 11 }], offers: [{ actorId: "ada", kind: "bread", amount: 1, wantedKind: "coin", wantedAmount: 9 }] }),
    );
    expect(words(here)).toEqual(expect.arrayContaining(["Ada: Give coin", "Ada: Accept the offer (You need 9 coin)", "Ada: Decline"]));
    expect(offerTo("ada", "coin", 2, "", 1)).toEqual({ offer: { targetId: "ada", kind: "coin", amount: 2 } });
  });

  it("uses what can be used", () => {
    const here = momentOf(observationOf({}));
    here.me.inventory.push({ kind: "bread", quantity: 1 });
    expect(pockets(here, RULES).map((one) => one.words)).toEqual(["Put down coin", "Use bread", "Put down bread"]);
  });

  it("lets the sleeping do nothing but wake up", () => {
    const here = momentOf(observationOf({ visibleObjects: [STALL, SHELF] }));
    here.me.status = 1;
    expect(words(here)).toEqual(["You are asleep: Wake up"]);
  });

  it("has plain words for refusals", () => {
    expect(why("too_far")).toBe("That is too far away");
    expect(why("some_new_reason")).toBe("That did not work: some new reason");
  });
});

describe("ways", () => {
  const knownFrom = (moment: Moment) => {
    const known = new Known();
    known.note(moment);
    return known;
  };

  it("go around walls and people, and not diagonally past a corner", () => {
    const moment = momentOf(observationOf({ walls: [[11, 10], [11, 9]] }));
    expect(firstStep(knownFrom(moment), moment, (x, y) => x === 12 && y === 10)).toBe("S");
    moment.people = [{ id: "ada", x: 10, y: 11, status: 0 }];
    expect(firstStep(knownFrom(moment), moment, (x, y) => x === 12 && y === 10)).not.toBe("S");
  });

  it("end where one is, and where nothing is known", () => {
    const moment = momentOf(observationOf({}));
    expect(firstStep(knownFrom(moment), moment, (x, y) => x === 10 && y === 10)).toBe("there");
    expect(firstStep(knownFrom(moment), moment, (x) => x > 20)).toBe(null);
  });

  it("measure from the nearest tile of a large thing", () => {
    expect(distance({ x: 12, y: 8, width: 2, height: 3 }, 10, 10)).toBe(2);
    expect(distance(tileBox(10, 10), 10, 10)).toBe(0);
  });

  it("follow the keys that are held", () => {
    expect(wayOf(new Set(["N", "E"]))).toBe("NE");
    expect(wayOf(new Set(["N", "S", "W"]))).toBe("W");
    expect(wayOf(new Set())).toBe(null);
  });
});

describe("frames", () => {
  it("are those of the schema", () => {
    expect(JSON.parse(openFrame({ entityId: "bo", controllerId: "person:1", previous: "", token: "" }))).toEqual({
      control: { open: { entityId: "bo", controllerId: "person:1", play: true } },
    });
    expect(JSON.parse(openFrame({ entityId: "bo", controllerId: "p", previous: "s", token: "t" }))).toMatchObject({
      token: "t",
      control: { open: { previousLeaseId: "s" } },
    });
    expect(JSON.parse(intentFrame(9, { wait: {} }))).toEqual({ control: { intent: { tickId: "9", intent: { wait: {} } } } });
  });

  it("are read, also those that leave out what is zero", () => {
    expect(readFrame('{"control": {"ack": {"tickId": "4", "ack": {"reason": "REASON_LATE_TICK"}}}}')).toEqual({ kind: "ack", tick: 4, accepted: false, reason: "late_tick" });
    expect(readFrame('{"control": {"closed": {}}}')).toEqual({ kind: "closed", reason: "", retryMs: 0 });
    expect(readFrame('{"watch": {}}')).toBe(null);
  });
});

/** A world at the other end of a fake socket, and a clock that the test moves. */
class FakeWorld {
  sockets: (Socket & { open: boolean })[] = [];
  up: Record<string, any>[] = [];
  nowMs = 0;
  private timers: { at: number; act: () => void; id: number }[] = [];
  private id = 0;

  readonly timers_: Timers = {
    now: () => this.nowMs,
    after: (ms, act) => {
      this.timers.push({ at: this.nowMs + ms, act, id: (this.id += 1) });
      return this.id;
    },
    stop: (id) => void (this.timers = this.timers.filter((one) => one.id !== id)),
  };

  readonly dial = (): Socket => {
    const socket = { open: true, send: (text: string) => void this.up.push(JSON.parse(text)), close: () => void (socket.open = false), onopen: null, onmessage: null, onclose: null } as Socket & { open: boolean };
    this.sockets.push(socket);
    return socket;
  };

  get socket() {
    return this.sockets[this.sockets.length - 1];
  }

  pass(ms: number): void {
    const until = this.nowMs + ms;
    for (;;) {
      const next = this.timers.filter((one) => one.at <= until).sort((one, other) => one.at - other.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((one) => one !== next);
      this.nowMs = next.at;
      next.act();
    }
    this.nowMs = until;
  }

  down(control: object): void {
    this.socket.onmessage?.({ data: JSON.stringify({ control }) });
  }

  intents(): unknown[] {
    return this.up.filter((one) => one.control?.intent).map((one) => [Number(one.control.intent.tickId), one.control.intent.intent]);
  }
}

function playing() {
  const world = new FakeWorld();
  const game = new Game("bo", "person:1", world.dial, world.timers_, "", () => {});
  game.start();
  world.socket.onopen?.();
  world.down({ opened: OPENED });
  const tick = (number: number, more: object = {}) => world.down({ observation: observationOf({ tick: number, ...more }) });
  return { world, game, tick };
}

describe("a game", () => {
  it("sends what is chosen at once, one thing for each tick", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.step("E");
    expect(game.echo).toMatchObject({ state: "sent", words: "going east" });
    game.speak("  hello ");
    expect(game.echo?.state).toBe("chosen");
    tick(2, { x: 11, result: { actionType: "ACTION_TYPE_MOVE", ok: true } });
    expect(world.intents()).toEqual([
      [1, { move: { direction: "DIRECTION_E" } }],
      [2, { say: { text: "hello" } }],
    ]);
    tick(3, { x: 11, result: { actionType: "ACTION_TYPE_SAY", ok: true } });
    expect(game.heard).toMatchObject([{ who: "bo", text: "hello" }]);
    expect(game.echo?.state).toBe("done");
  });

  it("says what changed hands, also when the page was too slow to see the outcome", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.act({ buy: { targetId: "stall:1", kind: "bread" } }, "buying bread");
    const inventory = [{ kind: "bread", quantity: "1" }, { kind: "coin", quantity: "3" }];
    tick(4, { me: { entityId: "bo", x: 10, y: 10, inventory } });
    expect(game.echo?.state).toBe("sent");
    world.down({ ack: { tickId: "1", ack: { accepted: true } } });
    expect(game.echo).toEqual({ words: "buying bread (+1 bread, −2 coin)", state: "done" });
  });

  it("keeps what came after the deadline for the next tick", () => {
    const { world, game, tick } = playing();
    tick(1);
    world.pass(390);
    game.act({ sleep: {} }, "falling asleep");
    expect(world.intents()).toEqual([]);
    tick(2);
    expect(world.intents()).toEqual([[2, { sleep: {} }]]);
  });

  it("tries again what was too late, and says why something was refused", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.act({ sleep: {} }, "falling asleep");
    world.pass(390);
    world.down({ ack: { tickId: "1", ack: { reason: "REASON_LATE_TICK" } } });
    tick(2);
    expect(world.intents()).toEqual([[1, { sleep: {} }], [2, { sleep: {} }]]);
    tick(3, { result: { actionType: "ACTION_TYPE_SLEEP", reason: "REASON_INCAPACITATED" } });
    expect(game.echo).toEqual({ words: "You are too weak for that", state: "failed" });
  });

  it("tries again what was too late, also when the refusal comes after the next tick", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.act({ sleep: {} }, "falling asleep");
    tick(2);
    world.down({ ack: { tickId: "1", ack: { reason: "REASON_LATE_TICK" } } });
    expect(world.intents()).toEqual([[1, { sleep: {} }], [2, { sleep: {} }]]);
    expect(game.echo?.state).toBe("sent");
  });

  it("walks a step in each tick until it is there, also while a key is held", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.goTo(12, 10);
    tick(2, { x: 11, result: { actionType: "ACTION_TYPE_MOVE", ok: true } });
    tick(3, { x: 12, result: { actionType: "ACTION_TYPE_MOVE", ok: true } });
    expect(world.intents().length).toBe(2);
    expect([game.goal, game.echo?.state]).toEqual([null, "done"]);
    game.hold("W");
    tick(4, { x: 11 });
    game.keep(null);
    tick(5, { x: 10 });
    expect(world.intents().slice(2)).toEqual([3, 4].map((at) => [at, { move: { direction: "DIRECTION_W" } }]));
  });

  it("stops beside a thing that can't be stepped on", () => {
    const { world, game, tick } = playing();
    tick(1, { walls: [[12, 10]], visibleObjects: [{ ...STALL, x: 12 }] });
    game.goToThing(game.moment!.things[0], "bread stall");
    tick(2, { x: 11, walls: [[12, 10]], visibleObjects: [{ ...STALL, x: 12 }] });
    expect(world.intents().length).toBe(1);
    expect(game.echo).toEqual({ words: "going to the bread stall", state: "done" });
  });

  it("shows signs of life, and takes the character back with its secret after a break", () => {
    const { world, game, tick } = playing();
    tick(1);
    world.pass(8000);
    expect(world.up.filter((one) => one.control?.keepAlive).length).toBeGreaterThanOrEqual(3);
    world.socket.onclose?.();
    expect(game.phase).toBe("reconnecting");
    world.pass(300);
    expect(world.sockets.length).toBe(2);
    world.socket.onopen?.();
    expect(world.up.at(-1)?.control.open.previousLeaseId).toBe("secret");
    world.down({ opened: OPENED });
    expect([game.phase, game.problem]).toEqual(["playing", ""]);
  });

  it("gives the character back, and sends nothing more", () => {
    const { world, game, tick } = playing();
    tick(1);
    game.leave();
    expect(world.up.at(-1)).toEqual({ control: { release: {} } });
    const sent = world.up.length;
    world.pass(60_000);
    game.step("N");
    expect(world.up.length).toBe(sent);
    expect(world.socket.open).toBe(false);
  });

  it("is over with plain words when another person has the character, or the lease ran out", () => {
    for (const [reason, said] of [
      ["REASON_PLAYED", /Another person is playing.*4 s/],
      ["REASON_EXPIRED_LEASE", /away too long/],
      ["REASON_STOPPING", /shut down/],
    ] as const) {
      const { world, game } = playing();
      world.down({ closed: { reason, retryAfterMs: 3200 } });
      world.socket.onclose?.();
      expect([game.over, said.test(game.problem)]).toEqual([true, true]);
      world.pass(60_000);
      expect(world.sockets.length).toBe(1);
    }
  });

  it("asks for a token where the world wants one of its operator", () => {
    const { world, game } = playing();
    world.socket.onmessage?.({ data: '{"error": {"code": "SOCKET_ERROR_CODE_NOT_ALLOWED", "message": "no", "ends": true}}' });
    expect([game.over, game.needsToken]).toEqual([true, true]);
  });

  it("does not hold up a world that waits for everybody", () => {
    const { world, tick } = playing();
    tick(1, { deadlineMs: 86_400_000 });
    world.pass(1000);
    expect(world.intents()).toEqual([[1, { wait: {} }]]);
  });
});

/** One person's game: keeps the character, sends one intent for each tick, and says what became of it. */

import { LOCKSTEP_MS } from "../codes";
import { aliveFrame, intentFrame, openFrame, readFrame, releaseFrame, type Dial, type Down, type Socket } from "./door";
import { moveTo, momentOf, rulesOf, say, wait, type Intent, type Me, type Moment, type Outcome, type Rules, type SeenPerson, type SeenThing, type Stack, type Way } from "./frames";
import { why } from "./menu";
import { plain } from "../words";
import { canStep, distance, firstStep, Known, tileBox, type Box } from "./path";

const MARGIN_MS = 40; // before the deadline, for the way to the world
const RETRY_MS = [200, 500, 1000, 2000];
const MOST_HEARD = 40;
const STUCK_TICKS = 6; // after so many failed steps in a row one stops walking

export type Phase = "joining" | "playing" | "reconnecting" | "over";

export interface Line {
  key: number;
  who: string; // id, or "" for the game's own words
  text: string;
}

/** What the person chose last, and what became of it. */
export interface Echo {
  words: string;
  state: "chosen" | "sent" | "done" | "failed";
}

/** Where one walks to. */
export interface Goal {
  words: string;
  box: Box;
  beside: boolean; // one stops beside it
  person: string; // whom one follows, or ""
  thing: string;
  tries: number;
}

export interface Timers {
  now(): number;
  after(ms: number, act: () => void): number;
  stop(timer: number): void;
}

interface Chosen {
  intent: Intent;
  words: string;
}

interface Sent {
  tick: number;
  chosen: Chosen;
  carried: Stack[]; // before it
  accepted: boolean;
}

export class Game {
  phase: Phase = "joining";
  needsToken = false; // the world asks for the token of its operator
  problem = ""; // why it is over, or what is wrong for the moment
  moment: Moment | null = null;
  rules: Rules = { kinds: new Map(), uses: new Map() };
  heard: Line[] = [];
  echo: Echo | null = null;
  goal: Goal | null = null;
  version = 0; // grows with every change
  private readonly known = new Known();
  private socket: Socket | null = null;
  private secret = "";
  private ttlMs = 10_000;
  private lastUp = 0; // when something was sent last
  private failures = 0;
  private timer = 0;
  private queue: Chosen[] = []; // what is to be done, a thing for each tick
  private sent: Sent | null = null; // the intent of the present tick
  private unsure: Sent | null = null; // one of an earlier tick of which it is not known whether it came in time
  private arrived = 0; // when the present tick came
  private held: Way | null = null; // the direction that is held down
  private lines = 0;
  private left = false;

  constructor(
    readonly entityId: string,
    readonly controllerId: string,
    private readonly dial: Dial,
    private readonly timers: Timers,
    private readonly token: string,
    private readonly onChange: () => void,
  ) {}

  /** Take the character. */
  start(): void {
    this.connect();
    this.beat();
  }

  /** Give it back to its agent at once. */
  leave(): void {
    if (this.left) return;
    this.left = true;
    this.timers.stop(this.timer);
    this.up(releaseFrame());
    const { socket } = this;
    if (socket) this.timers.after(500, () => socket.close()); // its server closes it before, when it has read the release
    this.end("");
  }

  get over(): boolean {
    return this.phase === "over";
  }

  // What a person does

  /** Do something in this tick, or in the next one if this one is used. */
  act(intent: Intent, words: string): void {
    this.goal = null;
    this.queue = this.queue.filter((one) => "say" in one.intent);
    this.push({ intent, words });
  }

  /** Say something; it does not stop one's way, but takes a tick as all does. */
  speak(text: string): void {
    const said = text.trim();
    if (said) this.push({ intent: say(said), words: `saying “${said}”` });
  }

  step(way: Way): void {
    const { moment } = this;
    if (!moment) return;
    this.goal = null;
    this.queue = this.queue.filter((one) => "say" in one.intent);
    this.push({ intent: moveTo(way), words: `going ${NAMES[way]}` });
  }

  /** A direction is held down, or let go. */
  hold(way: Way | null): void {
    if (way && way !== this.held) this.step(way);
    this.held = way;
  }

  /** Some of the keys were let go: go on in what is left of the direction, without a step of its own. */
  keep(way: Way | null): void {
    this.held = way;
  }

  goTo(x: number, y: number): void {
    this.walk({ words: "going there", box: tileBox(x, y), beside: false, person: "", thing: "", tries: 0 });
  }

  goToPerson(person: SeenPerson, name: string): void {
    this.walk({ words: `going to ${name}`, box: tileBox(person.x, person.y), beside: true, person: person.id, thing: "", tries: 0 });
  }

  goToThing(thing: SeenThing, name: string): void {
    const { x, y, width, height } = thing;
    const blocked = !this.known.isWalkable(x, y) || width > 1 || height > 1;
    this.walk({ words: `going to the ${name}`, box: { x, y, width, height }, beside: blocked, person: "", thing: thing.id, tries: 0 });
  }

  stop(): void {
    this.goal = null;
    this.held = null;
    this.queue = [];
    this.show(this.echo?.state === "chosen" ? null : this.echo);
  }

  private walk(goal: Goal): void {
    this.held = null;
    this.queue = this.queue.filter((one) => "say" in one.intent);
    this.goal = goal;
    this.show({ words: goal.words, state: "chosen" });
    this.decide();
  }

  private push(chosen: Chosen, first = false): void {
    if (first) this.queue.unshift(chosen);
    else this.queue.push(chosen);
    this.show({ words: chosen.words, state: "chosen" });
    this.decide();
  }

  // One tick

  /** Send the intent of the present tick, if there is something to do and time for it. */
  private decide(): void {
    const { moment, socket } = this;
    if (this.phase !== "playing" || !moment || !socket || this.sent?.tick === moment.tick) return;
    const lockstep = moment.leftMs >= LOCKSTEP_MS;
    if (!lockstep && this.timers.now() - this.arrived > moment.leftMs - MARGIN_MS) return; // the next tick comes soon
    const chosen = this.queue.shift() ?? this.nextStep(moment);
    if (!chosen) return;
    this.sent = { tick: moment.tick, chosen, carried: moment.me.inventory, accepted: false };
    this.up(intentFrame(moment.tick, chosen.intent));
    this.show({ words: chosen.words, state: "sent" });
  }

  private nextStep(moment: Moment): Chosen | null {
    if (this.held) {
      const { x, y } = moment.me;
      const way = [this.held].find((one) => canStep(this.known, x, y, one)) ?? null;
      if (way) return { intent: moveTo(way), words: `going ${NAMES[way]}` };
      return null;
    }
    const { goal } = this;
    if (!goal) return null;
    const person = moment.people.find((one) => one.id === goal.person);
    if (person) goal.box = tileBox(person.x, person.y);
    const isGoal = (x: number, y: number) => (goal.beside ? distance(goal.box, x, y) === 1 : distance(goal.box, x, y) === 0);
    const way = firstStep(this.known, moment, isGoal);
    if (way === "there") {
      this.goal = null;
      this.show({ words: goal.words, state: "done" });
      return null;
    }
    if (way === null || goal.tries >= STUCK_TICKS) {
      this.goal = null;
      this.show({ words: "There is no way that you know of", state: "failed" });
      return null;
    }
    return { intent: moveTo(way), words: goal.words };
  }

  private observe(body: unknown): void {
    const moment = momentOf(body);
    const { sent } = this;
    this.moment = moment;
    this.arrived = this.timers.now();
    this.known.note(moment);
    for (const { who, text } of moment.heard) this.hear(who, text);
    if (sent && sent.tick < moment.tick) {
      this.sent = null;
      // A page that is slow misses observations, and with them outcomes; then the acknowledgement says what came of it.
      if (sent.tick === moment.tick - 1 && moment.outcome) this.settle(sent, moment.outcome, moment.me);
      else if (sent.accepted) this.settle(sent, null, moment.me);
      else this.unsure = sent;
    }
    this.decide();
    if (moment.leftMs >= LOCKSTEP_MS && !this.sent) this.timers.after(300, () => this.waitIn(moment.tick));
    this.changed();
  }

  /** In a world that waits for everybody, a person who does nothing does not hold up the others. */
  private waitIn(tick: number): void {
    if (this.phase !== "playing" || this.moment?.tick !== tick || this.sent) return;
    this.sent = { tick, chosen: { intent: wait(), words: "" }, carried: [], accepted: false };
    this.up(intentFrame(tick, wait()));
  }

  private settle({ chosen, carried }: Sent, outcome: Outcome | null, me: Me): void {
    const ok = outcome?.ok ?? true;
    if ("say" in chosen.intent && ok) this.hear(me.id, (chosen.intent.say as { text: string }).text);
    if (this.goal) this.goal.tries = ok ? 0 : this.goal.tries + 1;
    const walking = this.goal && "move" in chosen.intent && (ok || this.goal.tries < STUCK_TICKS); // another way may be free
    if (walking || !chosen.words) return;
    if (!ok) this.show({ words: why(outcome?.reason ?? ""), state: "failed" });
    else if (this.echo?.state === "sent") this.show({ words: `${chosen.words}${gains(carried, me.inventory)}`, state: "done" });
  }

  // The connection

  private connect(): void {
    const socket = this.dial();
    this.socket = socket;
    socket.onopen = () => {
      const { entityId, controllerId, secret: previous, token } = this;
      this.up(openFrame({ entityId, controllerId, previous, token }));
    };
    socket.onmessage = (event) => {
      if (socket !== this.socket || this.over) return;
      const down = readFrame(String(event.data));
      if (down) this.take(down);
    };
    socket.onclose = () => {
      if (socket === this.socket) this.broken();
    };
  }

  private take(down: Down): void {
    switch (down.kind) {
      case "opened":
        this.secret = down.secret;
        this.ttlMs = down.ttlMs || this.ttlMs;
        this.rules = rulesOf(down.body);
        this.failures = 0;
        this.phase = "playing";
        this.problem = "";
        this.sent = this.unsure = null;
        return this.changed();
      case "observation":
        return this.observe(down.body);
      case "ack":
        return this.acknowledge(down);
      case "closed":
        return this.closed(down.reason, down.retryMs);
      case "error":
        if (down.code === "unreachable" || down.code === "stalled") return this.broken();
        this.needsToken = down.code === "not_allowed";
        if (this.needsToken) this.end("To play here takes the token of the world's operator.");
        else if (down.ends) this.end(down.message || "The world has ended the connection.");
    }
  }

  private acknowledge(ack: { tick: number; accepted: boolean; reason: string }): void {
    const one = [this.sent, this.unsure].find((each) => each?.tick === ack.tick);
    if (!one) return;
    const isOver = one === this.unsure;
    if (ack.accepted) {
      one.accepted = true;
      if (!isOver) return;
      this.unsure = null;
      if (this.moment) this.settle(one, null, this.moment.me);
      return;
    }
    if (isOver) this.unsure = null;
    else this.sent = null;
    if (ack.reason !== "late_tick") this.show({ words: why(ack.reason), state: "failed" });
    else if (one.chosen.words && !this.goal && !this.held) this.push(one.chosen, true); // a walk goes on by itself
  }

  private closed(reason: string, retryMs: number): void {
    const seconds = Math.max(1, Math.ceil(retryMs / 1000));
    if (reason === "played") this.end(`Another person is playing this character. Choose another one, or try again in ${seconds} s.`);
    else if (reason === "away") this.end("This character is not in the world now.");
    else if (reason === "stopping") this.end("The world is being shut down.");
    else if (reason === "expired_lease") this.end("You were away too long, so the character went back to its agent.");
    else if (reason === "invalid_lease") this.end("You play this character in another window now.");
    else this.end(why(reason) || "The world has taken the character back.");
  }

  private broken(): void {
    if (this.over) return;
    this.socket = null;
    this.sent = null;
    if (this.phase === "joining" && this.failures >= RETRY_MS.length) {
      this.end("The world can't be reached, or nobody may play in it.");
      return;
    }
    if (this.phase === "playing") this.phase = "reconnecting";
    this.problem = "The connection was lost; trying again";
    const waitMs = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    this.timers.after(waitMs, () => !this.over && !this.socket && this.connect());
    this.changed();
  }

  private beat(): void {
    if (this.over) return;
    this.timer = this.timers.after(this.ttlMs / 4, () => {
      if (this.phase === "playing" && this.timers.now() - this.lastUp >= this.ttlMs / 5) this.up(aliveFrame());
      this.beat();
    });
  }

  private up(text: string): void {
    try {
      this.socket?.send(text);
      this.lastUp = this.timers.now();
    } catch {
      this.broken(); // it is closing
    }
  }

  private end(problem: string): void {
    this.timers.stop(this.timer);
    this.phase = "over";
    this.problem = problem;
    this.goal = null;
    this.queue = [];
    this.secret = "";
    this.changed();
    if (!this.left) this.socket?.close();
  }

  private hear(who: string, text: string): void {
    this.lines += 1;
    this.heard = [...this.heard, { key: this.lines, who, text }].slice(-MOST_HEARD);
  }

  private show(echo: Echo | null): void {
    this.echo = echo;
    this.changed();
  }

  private changed(): void {
    this.version += 1;
    this.onChange();
  }
}

export const NAMES: Record<Way, string> = {
  N: "north",
  NE: "north-east",
  E: "east",
  SE: "south-east",
  S: "south",
  SW: "south-west",
  W: "west",
  NW: "north-west",
};

/** " (+1 bread, −2 coin)": what changed hands. */
function gains(before: Stack[], after: Stack[]): string {
  const changes = new Map<string, number>();
  for (const one of after) changes.set(one.kind, (changes.get(one.kind) ?? 0) + one.quantity);
  for (const one of before) changes.set(one.kind, (changes.get(one.kind) ?? 0) - one.quantity);
  const parts = [...changes].filter(([, by]) => by).map(([kind, by]) => `${by > 0 ? "+" : "−"}${Math.abs(by)} ${plain(kind)}`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

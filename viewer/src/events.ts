/** What happened, as lists show it: one entry for each thing worth telling, filtered and newest first. */

import { Status, Tag } from "./codes";
import { GONE, type Film } from "./film/film";
import type { Places } from "./film/places";
import { type Frame } from "./frames/layout";
import { AWAY, failedSteps, rulesIn, saidIn, thingChanges } from "./frames/scene";
import type { EventType, Filters } from "./hash";
import { items, plain, ruleNews, sentence } from "./words";

const LOOK_TICKS = 2000; // so far back it is looked for what passes the filters
const LOOK_BYTES = 1 << 18; // of frames that are looked through at once; what is further back waits
const MOST_KEPT = 10_000; // ticks and entries that are kept for the next time

export interface Entry {
  key: string; // the same as long as it is the same thing
  tick: number;
  type: EventType;
  row: number; // the character, or -1
  text: string;
  bad: boolean;
}

export interface Recent {
  entries: Entry[];
  from: number; // the next tick to look through, if it is or comes to hand
  more: boolean; // there is more to look through
}

interface Kept {
  frame: Frame;
  told: number; // changes and thoughts of the tick that were known by then
  entries: Entry[]; // the newest first
}

/** The log of events. What passes the filters is looked for once in each tick, and in a few at a time. */
export class EventLog {
  private kept = new Map<number, Kept>(); // tick -> what passes; the oldest go first
  private size = 0;
  private filters: Filters = { types: [], actor: "", region: null };
  private names = new Int8Array(0); // character -> whether its name passes: 1 or -1, and 0 if nobody asked yet

  constructor(
    private readonly film: Film,
    private readonly places: Places,
  ) {}

  /** The newest entries up to a tick that pass. Ticks that are not at hand end the list. */
  recent(filters: Filters, tick: number, most: number): Recent {
    if (filters !== this.filters) this.narrow(filters);
    const { film } = this;
    const entries: Entry[] = [];
    const limit = Math.max(film.span.first, tick - LOOK_TICKS);
    let bytes = 0;
    let at = tick;
    for (; at >= limit && entries.length < most; at -= 1) {
      const frame = film.tickFrame(at);
      if (!frame) break;
      let found = this.known(at, frame);
      if (!found) {
        if (bytes >= LOOK_BYTES) return { entries, from: at, more: true };
        bytes += frame.bytes;
        found = this.look(at, frame, most);
        if (!found) break;
      }
      for (const entry of found) entries.push(entry);
    }
    return { entries: entries.slice(0, most), from: at, more: false };
  }

  private narrow(filters: Filters): void {
    if (filters.actor !== this.filters.actor) this.names = new Int8Array(0);
    this.filters = filters;
    this.kept.clear();
    this.size = 0;
  }

  private told(tick: number): number {
    return this.film.statusChangesAt(tick).length + this.film.marksAt(tick).length;
  }

  private known(tick: number, frame: Frame): Entry[] | null {
    const found = this.kept.get(tick);
    return found && found.frame === frame && found.told === this.told(tick) ? found.entries : null;
  }

  /** Look through a tick; null if it is not known where everybody was, and that matters. */
  private look(tick: number, frame: Frame, most: number): Entry[] | null {
    const places = this.filters.region ? this.places.at(tick) : null;
    if (this.filters.region && !places) return null;
    const entries = [...this.passing(tick, frame, places, most)];
    this.drop(tick);
    this.kept.set(tick, { frame, told: this.told(tick), entries });
    this.size += 1 + entries.length;
    while (this.size > MOST_KEPT) this.drop(this.kept.keys().next().value as number);
    return entries;
  }

  private drop(tick: number): void {
    const found = this.kept.get(tick);
    if (found) this.size -= 1 + found.entries.length;
    this.kept.delete(tick);
  }

  /** The newest entries of a tick that pass. Only those are put into words. */
  private *passing(tick: number, frame: Frame, places: Int16Array | null, most: number): Generator<Entry> {
    let left = most;
    for (const type of TYPES) {
      if (this.filters.types.length && !this.filters.types.includes(type)) continue;
      for (const [number, row, text, bad] of this.of(type, tick, frame, places)) {
        if (left <= 0) return;
        left -= 1;
        yield { key: `${tick} ${type} ${number}`, tick, type, row, text: text(), bad };
      }
    }
  }

  private of(type: EventType, tick: number, frame: Frame, places: Int16Array | null): Iterable<Found> {
    const passes = (row: number) =>
      this.named(row) && (!places || this.inside(places[2 * row], places[2 * row + 1]));
    switch (type) {
      case "thought":
        return this.thoughts(tick, passes);
      case "control":
        return this.controls(tick, passes);
      case "object":
        return this.objects(frame, passes);
      case "failure":
        return this.failures(frame, passes);
      case "action":
        return this.results(frame, false, passes);
      case "speech":
        return this.speech(frame);
      case "goal":
        return this.goals(frame, passes);
    }
  }

  private *thoughts(tick: number, passes: Passes): Generator<Found> {
    const marks = this.film.marksAt(tick);
    for (let at = marks.length - 1; at >= 0; at -= 1) {
      const { row, error_type, brief } = marks[at];
      if (passes(row)) yield [at, row, () => (error_type ? `gets no answer: ${plain(error_type)}` : brief), !!error_type];
    }
  }

  private *controls(tick: number, passes: Passes): Generator<Found> {
    const changes = this.film.statusChangesAt(tick);
    for (let at = changes.length - 1; at >= 0; at -= 1) {
      const { row, before, after } = changes[at];
      if (!passes(row)) continue;
      if ((before ^ after) & GONE) yield [4 * at + 2, row, () => (after & GONE ? "leaves the world" : "comes into the world"), false];
      if ((before | after) & GONE) continue; // nobody controls who is away
      const [down, gone] = [Boolean(after & Status.INCAPACITATED), Boolean(after & Status.UNCONTROLLED)];
      if ((before ^ after) & Status.INCAPACITATED) {
        yield [4 * at + 1, row, () => (down ? "is too weak to go on" : "is on its feet again"), down];
      }
      if ((before ^ after) & Status.UNCONTROLLED) {
        yield [4 * at, row, () => (gone ? "has nobody who controls it" : "is controlled"), gone];
      }
      if ((before ^ after) & Status.PLAYED) {
        yield [4 * at + 3, row, () => (after & Status.PLAYED ? "is played by a person" : "is played by a person no more"), false];
      }
    }
  }

  /** What lies on a tile now, or in the thing that stands there. */
  private stored(x: number, y: number, item: number, amount: number): string {
    const { world } = this.film;
    const name = world.info.items[item] ?? "?";
    const thing = world.thingX.findIndex((left, at) => left === x && world.thingY[at] === y);
    const where = thing < 0 ? "on the ground" : `at ${world.targetName(world.thingIds[thing])}`;
    return amount ? `${items(world, name, amount)} ${where}` : `no ${plain(name)} ${thing < 0 ? `${where} any more` : `left ${where}`}`;
  }

  private *objects(frame: Frame, passes: Passes): Generator<Found> {
    const changes = thingChanges(frame);
    yield* this.rules(frame, passes, true, changes.length);
    if (this.filters.actor) return;
    const { world } = this.film;
    const asked = this.filters.types.includes("object"); // else the deed that changed an amount says so already
    for (let at = changes.length - 1; at >= 0; at -= 1) {
      const change = changes[at];
      if (change.length === 4) {
        const [x, y, item, amount] = change;
        if (asked && this.inside(x, y)) yield [at, -1, () => this.stored(x, y, item, amount), false];
      } else if (change[1] === "state") {
        const [thing, , state] = change;
        if (world.thingX[thing] !== AWAY && !this.inside(world.thingX[thing], world.thingY[thing])) continue;
        yield [at, -1, () => `${world.targetName(world.thingIds[thing])} is ${plain(world.kindOf(thing).states[state] ?? "?")} now`, false];
      } else if (change[1] === "tile") {
        const [thing, , tile] = change;
        if (tile >= 0 && !this.inside(tile & 0xffff, tile >> 16)) continue;
        yield [at, -1, () => `${world.targetName(world.thingIds[thing])} is ${tile < 0 ? "gone" : "built"}`, false];
      }
    }
  }

  private goals(frame: Frame, passes: Passes): Generator<Found> {
    return this.rules(frame, passes, false, 0);
  }

  /** Goals and rules of the user's own, or rules of the world that only changed items; `first` is the first number. */
  private *rules(frame: Frame, passes: Passes, onlyItems: boolean, first: number): Generator<Found> {
    const narrowed = this.filters.actor !== "" || this.filters.region !== null;
    const { world } = this.film;
    const found = rulesIn(frame);
    for (let at = found.length - 1; at >= 0; at -= 1) {
      const [name, rows, score, ends, own, text, effects] = found[at];
      if ((!own && effects.length > 0) !== onlyItems || (narrowed && !rows.some(passes))) continue;
      yield [first + at, rows[0] ?? -1, () => ruleNews(world, name, rows.map((row) => world.nameOf(row)), score, ends, own, text, effects), false];
    }
  }

  private *speech(frame: Frame): Generator<Found> {
    const said = saidIn(frame);
    for (let at = said.length - 1; at >= 0; at -= 1) {
      const [row, , text, x, y] = said[at];
      if (this.named(row) && this.inside(x, y)) yield [at, row, () => text, false];
    }
  }

  private *failures(frame: Frame, passes: Passes): Generator<Found> {
    const { world } = this.film;
    const narrowed = this.filters.actor !== "" || this.filters.region !== null;
    const { found, more } = failedSteps(frame, world.actors, narrowed ? passes : undefined);
    if (more) yield [FIRST_STEP + found.length, -1, () => `and ${more} more could not go where they wanted`, true];
    for (let at = found.length - 1; at >= 0; at -= 1) {
      const [row, reason, direction] = found[at];
      yield [FIRST_STEP + at, row, () => sentence(world, { action: 1, reason, direction })[0], true];
    }
    yield* this.results(frame, true, passes);
  }

  private *results(frame: Frame, failures: boolean, passes: Passes): Generator<Found> {
    const { world } = this.film;
    const rows = frame.u32(Tag.RESULT_ROWS);
    const codes = frame.u8(Tag.RESULT_CODES);
    let details: Map<number, Detail> | null = null;
    for (let at = rows.length - 1; at >= 0; at -= 1) {
      const action = world.info.actions[codes[at]];
      const reason = codes[rows.length + at];
      if (reason > 0 !== failures || (!reason && (action === "Say" || action === "Wait" || action === "Move"))) continue;
      if (!passes(rows[at])) continue;
      const text = () => {
        details ??= new Map(frame.json<Detail[]>(Tag.DETAILS, []).map((one) => [one[0], one]));
        const detail = details.get(rows[at]);
        const [deed, effects] = sentence(world, { action: codes[at], reason, direction: -1 }, detail?.[1], detail?.[2]);
        return effects ? `${deed} (${effects})` : deed;
      };
      yield [at, rows[at], text, failures];
    }
  }

  private named(row: number): boolean {
    const { actor } = this.filters;
    if (!actor) return true;
    const { actorIds } = this.film.world;
    if (row < 0) return false;
    if (!this.names.length) this.names = new Int8Array(actorIds.length);
    const wanted = actor.toLowerCase();
    this.names[row] ||= [actorIds[row], this.film.world.nameOf(row)].some((name) => name.toLowerCase().includes(wanted)) ? 1 : -1;
    return this.names[row] > 0;
  }

  private inside(x: number, y: number): boolean {
    const { region } = this.filters;
    return !region || (x >= region.left && x <= region.right && y >= region.top && y <= region.bottom);
  }
}

type Found = [number: number, row: number, text: () => string, bad: boolean]; // the number is its place among those of its kind
type Passes = (row: number) => boolean;
type Detail = [row: number, target: string, effects: [string, number][]];

/** Kinds in the order of lists, the newest first: what agents told came last. */
const TYPES: readonly EventType[] = ["goal", "thought", "control", "object", "failure", "action", "speech"];
const FIRST_STEP = 1 << 20; // failed steps are numbered after all other failures

export interface Conversation {
  key: string;
  rows: number[];
  lines: Line[];
}

const PAUSE_TICKS = 12;
const TALK_TICKS = 400;
const BEGIN_TICKS = 100;

/** What was said, put together where people were near each other and one line followed the other. */
export function conversations(film: Film, tick: number, most: number): Conversation[] {
  const { world } = film;
  const reach = world.info.hearing_radius;
  const open: (Conversation & { x: number; y: number; last: number })[] = [];
  let first = tick;
  // It begins at the same tick for a while, so that nothing in the list is another thing with each tick.
  const begin = Math.max(film.span.first, Math.ceil((tick - TALK_TICKS) / BEGIN_TICKS) * BEGIN_TICKS);
  while (first > begin && film.tickFrame(first - 1)) first -= 1;
  for (let at = first; at <= tick; at += 1) {
    const frame = film.tickFrame(at);
    for (const [row, , text, x, y] of frame ? saidIn(frame) : []) {
      const near = (one: (typeof open)[number]) =>
        at - one.last <= PAUSE_TICKS && Math.max(Math.abs(one.x - x), Math.abs(one.y - y)) <= reach;
      let found = open.findLast((one) => near(one) && one.rows.includes(row)) ?? open.findLast(near);
      if (!found) {
        found = { key: `${at} ${row}`, rows: [], lines: [], x, y, last: at };
        open.push(found);
      }
      if (!found.rows.includes(row)) found.rows.push(row);
      found.lines.push({ row, tick: at, text });
      [found.x, found.y, found.last] = [x, y, at];
    }
  }
  return open.sort((one, other) => other.last - one.last).slice(0, most);
}

export interface Line {
  row: number;
  tick: number;
  text: string;
}

/** What a character said and heard in some ticks up to one, newest first: what was said near where it was then. */
export function heardBy(film: Film, places: Places, row: number, tick: number, ticks: number, most: number): Line[] {
  const reach = film.world.info.hearing_radius;
  const heard: Line[] = [];
  for (let at = tick; at > tick - ticks && heard.length < most; at -= 1) {
    const frame = film.tickFrame(at);
    const said = frame ? saidIn(frame) : [];
    const there = said.length ? places.at(at) : null;
    for (const [speaker, , text, x, y] of said) {
      const near = there && there[2 * row] !== AWAY && Math.max(Math.abs(x - there[2 * row]), Math.abs(y - there[2 * row + 1])) <= reach;
      if (near || speaker === row) heard.push({ row: speaker, tick: at, text });
    }
  }
  return heard;
}

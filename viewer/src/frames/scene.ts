/** The world at one tick: columns that ticks are applied to in place. */

import { DX, DY, FIRST_FAILED, FIRST_MOVE_REASON, FIRST_STEP, LAST_FAILED, MOVE, RARE, WAITED, Kind, Tag } from "../codes";
import { type Frame } from "./layout";
import type { World } from "./world";

/** x and y of a character that is not in the world: it has not come yet, or has left. */
export const AWAY = -1;

/** Step code -> step along y times 65536, and step along x. */
const STEP = new Int32Array(256);
/** Step code -> the way that the actor faces after it, 255 if that does not change. */
const STEP_FACING = new Uint8Array(256).fill(255);
for (let way = 0; way < 8; way += 1) {
  STEP[FIRST_STEP + way] = DY[way] * 65536 + DX[way];
  STEP_FACING[FIRST_STEP + way] = way;
}
for (let code = FIRST_FAILED; code <= LAST_FAILED; code += 1) STEP_FACING[code] = (code - FIRST_FAILED) % 8;

/** What became of an intent. */
export interface Result {
  action: number;
  reason: number;
  direction: number; // of a move, else -1
}

export class Scene {
  tick = -1;
  timeMs = 0;
  // These are handed to the GPU as they are, so nothing is copied when a tick comes.
  readonly places: Int16Array; // x and y of each actor
  readonly before: Int16Array; // where everybody was one tick ago
  readonly looks: Uint8Array; // facing and status of each actor, and two bytes for whoever draws it
  readonly thingState: Uint8Array;
  readonly thingStock: Int32Array;
  readonly thingX: Int16Array; // AWAY, as y: it is not there
  readonly thingY: Int16Array;
  ground = new Map<string, number>(); // "x,y,kind" -> amount
  thingsVersion = 0; // grows whenever an object or a heap changed
  builtVersion = 0; // grows whenever an object was built or is gone

  constructor(readonly world: World) {
    const room = Math.max(1, world.actors);
    this.places = new Int16Array(2 * room);
    this.before = new Int16Array(2 * room);
    this.looks = new Uint8Array(4 * room);
    this.thingState = new Uint8Array(world.things);
    this.thingStock = new Int32Array(world.things);
    this.thingX = world.thingX.slice();
    this.thingY = world.thingY.slice();
  }

  xOf(row: number): number {
    return this.places[2 * row];
  }

  yOf(row: number): number {
    return this.places[2 * row + 1];
  }

  isAway(row: number): boolean {
    return this.places[2 * row] === AWAY;
  }

  /** How many characters are not in the world. */
  get away(): number {
    let found = 0;
    for (let row = 0; row < this.world.actors; row += 1) if (this.isAway(row)) found += 1;
    return found;
  }

  statusOf(row: number): number {
    return this.looks[4 * row + 1];
  }

  /** Begin from a keyframe. Nobody is on the way from anywhere. */
  reset(frame: Frame): void {
    this.tick = frame.tick;
    this.timeMs = frame.timeMs;
    const { places, looks, world } = this;
    const [x, y] = [frame.i16(Tag.ACTOR_X), frame.i16(Tag.ACTOR_Y)];
    const [facing, status] = [frame.u8(Tag.ACTOR_FACING), frame.u8(Tag.ACTOR_STATUS)];
    for (let row = 0; row < world.actors; row += 1) {
      places[2 * row] = x[row];
      places[2 * row + 1] = y[row];
      looks[4 * row] = facing[row];
      looks[4 * row + 1] = status[row];
    }
    this.before.set(places);
    this.thingState.set(frame.u8(Tag.OBJECT_STATE));
    this.thingStock.set(frame.i32(Tag.OBJECT_STOCK));
    const placed = frame.i16(Tag.OBJECT_PLACES);
    if (placed.length) {
      this.builtVersion += 1;
      this.thingX.set(placed.subarray(0, world.things));
      this.thingY.set(placed.subarray(world.things));
    }
    this.ground = new Map();
    const heaps = frame.i32(Tag.GROUND);
    const count = heaps.length >> 2;
    for (let at = 0; at < count; at += 1) {
      this.ground.set(`${heaps[at]},${heaps[count + at]},${heaps[2 * count + at]}`, heaps[3 * count + at]);
    }
    this.thingsVersion += 1;
  }

  /** Go on by one tick. */
  apply(frame: Frame): void {
    if (frame.kind !== Kind.TICK || frame.tick !== this.tick + 1) {
      throw new Error(`tick ${frame.tick} can't follow tick ${this.tick}`);
    }
    const { places, looks } = this;
    this.before.set(places);
    takeSteps(frame, this.world.actors, places, looks);
    for (const row of frame.u32(Tag.PLACE_ROWS)) {
      if (this.before[2 * row] !== AWAY) continue;
      this.before.set(places.subarray(2 * row, 2 * row + 2), 2 * row); // it is there at once, and walks from nowhere
    }
    const changed = frame.u32(Tag.STATUS_ROWS);
    const bits = frame.u8(Tag.STATUS);
    for (let at = 0; at < changed.length; at += 1) looks[4 * changed[at] + 1] = bits[at];
    for (const change of thingChanges(frame)) this.change(change);
    this.tick = frame.tick;
    this.timeMs = frame.timeMs;
  }

  private change(change: ThingChange): void {
    this.thingsVersion += 1;
    if (change.length === 4) {
      const heap = `${change[0]},${change[1]},${change[2]}`;
      if (change[3]) this.ground.set(heap, change[3]);
      else this.ground.delete(heap);
    } else if (change[1] === "state") {
      this.thingState[change[0]] = change[2];
    } else if (change[1] === "stock") {
      this.thingStock[change[0]] = change[2];
    } else if (change[1] === "tile") {
      this.builtVersion += 1;
      this.thingX[change[0]] = change[2] < 0 ? AWAY : change[2] & 0xffff;
      this.thingY[change[0]] = change[2] < 0 ? AWAY : change[2] >> 16;
    }
  }

  /** Who stands on a tile, or -1. */
  actorAt(tileX: number, tileY: number): number {
    for (let row = 0; row < this.world.actors; row += 1) {
      if (this.xOf(row) === tileX && this.yOf(row) === tileY) return row;
    }
    return -1;
  }
}

export type ThingChange = [row: number, field: string, value: number] | [x: number, y: number, kind: number, amount: number];

export function thingChanges(frame: Frame): ThingChange[] {
  return frame.json<ThingChange[]>(Tag.OBJECTS, []);
}

const moves = new Int32Array(16); // number of a step code in the frame at hand -> its step
const ways = new Uint8Array(16); // the same -> facing after it

/** Let everybody go where a tick leads them; `looks` may be left as they are. */
export function takeSteps(frame: Frame, actors: number, places: Int16Array, looks: Uint8Array | null): void {
  const pairs = new Int32Array(places.buffer, places.byteOffset, places.length >> 1); // y times 65536, and x
  const codes = frame.u8(Tag.STEP_CODES);
  const step = (row: number, code: number) => {
    pairs[row] += STEP[code];
    if (looks && STEP_FACING[code] !== 255) looks[4 * row] = STEP_FACING[code];
  };
  const packed = frame.u8(Tag.STEPS);
  if (packed.length) walk(packed, codes, actors, pairs, looks, step);
  const rows = frame.u32(Tag.STEP_ROWS); // of the short form; there are none in the long one
  for (let at = 0; at < rows.length; at += 1) step(rows[at], codes[at]);
  const placed = frame.u32(Tag.PLACE_ROWS);
  const there = frame.i16(Tag.PLACES);
  const facing = frame.u8(Tag.PLACE_FACING);
  for (let at = 0; at < placed.length; at += 1) {
    places[2 * placed[at]] = there[at];
    places[2 * placed[at] + 1] = there[placed.length + at];
    if (looks) looks[4 * placed[at]] = facing[at];
  }
}

/** Take the long form of steps, where everybody has half a byte. Of all that a tick does only this is about everybody. */
function walk(
  packed: Uint8Array,
  rare: Uint8Array,
  actors: number,
  pairs: Int32Array,
  looks: Uint8Array | null,
  step: (row: number, code: number) => void,
): void {
  for (let number = 0; number < RARE; number += 1) {
    moves[number] = STEP[packed[number]];
    ways[number] = looks ? STEP_FACING[packed[number]] : 255;
  }
  let next = 0;
  for (let row = 0; row < actors; row += 1) {
    const number = (packed[16 + (row >> 1)] >> ((row & 1) << 2)) & 15;
    if (number === RARE) {
      step(row, rare[next++]);
      continue;
    }
    pairs[row] += moves[number];
    if (ways[number] !== 255) looks![4 * row] = ways[number];
  }
}

/** The step code of each actor, unpacked; empty if the frame has the short form. */
function stepsOf(frame: Frame, actors: number): Uint8Array {
  const packed = frame.u8(Tag.STEPS);
  if (!packed.length) return new Uint8Array(0);
  const room = new Uint8Array(actors);
  const rare = frame.u8(Tag.STEP_CODES);
  let next = 0;
  for (let row = 0, at = 16; row < actors; row += 2, at += 1) {
    const both = packed[at];
    const low = both & 15;
    room[row] = low === RARE ? rare[next++] : packed[low];
    if (row + 1 === actors) break;
    const high = both >> 4;
    room[row + 1] = high === RARE ? rare[next++] : packed[high];
  }
  return room;
}

function resultOfStep(code: number): Result | null {
  if (code >= FIRST_STEP && code < FIRST_FAILED) return { action: MOVE, reason: 0, direction: code - FIRST_STEP };
  if (code >= FIRST_FAILED && code <= LAST_FAILED) {
    const failed = code - FIRST_FAILED;
    return { action: MOVE, reason: FIRST_MOVE_REASON + (failed >> 3), direction: failed & 7 };
  }
  return code === WAITED ? { action: 0, reason: 0, direction: -1 } : null;
}

function placeOf(rows: Uint32Array, row: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (rows[middle] === row) return middle;
    if (rows[middle] < row) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** What one actor asked for in a tick and got, or null if it asked for nothing. */
export function resultOf(frame: Frame, row: number, actors: number): Result | null {
  const listed = frame.u32(Tag.RESULT_ROWS);
  const place = placeOf(listed, row);
  if (place >= 0) {
    const codes = frame.u8(Tag.RESULT_CODES);
    return { action: codes[place], reason: codes[listed.length + place], direction: -1 };
  }
  const steps = stepsOf(frame, actors);
  if (steps.length) return resultOfStep(steps[row]);
  const at = placeOf(frame.u32(Tag.STEP_ROWS), row);
  return at < 0 ? null : resultOfStep(frame.u8(Tag.STEP_CODES)[at]);
}

export interface FailedSteps {
  found: [row: number, reason: number, way: number][]; // the first of them
  more: number;
}

const MOST_FAILED = 30; // of one tick; in a crowd many run into each other
const failed = new WeakMap<Frame, FailedSteps>(); // what was found before: lists ask again and again

/** The failed steps of a tick, of everybody or of those who are `wanted`. */
export function failedSteps(frame: Frame, actors: number, wanted?: (row: number) => boolean): FailedSteps {
  const known = wanted ? undefined : failed.get(frame);
  if (known) return known;
  const found: FailedSteps = { found: [], more: 0 };
  const note = (row: number, code: number) => {
    if (code < FIRST_FAILED || code > LAST_FAILED || (wanted && !wanted(row))) return;
    if (found.found.length < MOST_FAILED) {
      found.found.push([row, FIRST_MOVE_REASON + ((code - FIRST_FAILED) >> 3), (code - FIRST_FAILED) & 7]);
    } else found.more += 1;
  };
  const steps = stepsOf(frame, actors);
  for (let row = 0; row < steps.length; row += 1) note(row, steps[row]);
  const rows = frame.u32(Tag.STEP_ROWS); // of the short form; there are none in the long one
  const codes = frame.u8(Tag.STEP_CODES);
  for (let at = 0; at < rows.length; at += 1) note(rows[at], codes[at]);
  if (!wanted) failed.set(frame, found);
  return found;
}

/** A goal that was reached, or what a rule of the user's own did. */
export type RuleEvent = [
  name: string,
  rows: number[],
  score: number,
  ends: boolean,
  own: boolean,
  text: string,
  effects: [string, number][],
];

/** The goals of a tick, what rules of the user's own did, and items that decayed. */
export function rulesIn(frame: Frame): RuleEvent[] {
  return frame.json<RuleEvent[]>(Tag.RULES, []);
}

/** Something that was said, and where. */
export type Saying = [row: number, channel: string, text: string, x: number, y: number];

const said = new WeakMap<Frame, Saying[]>(); // what was read before, likewise

/** What was said in a tick. */
export function saidIn(frame: Frame): Saying[] {
  let known = said.get(frame);
  if (!known) said.set(frame, (known = frame.json<Saying[]>(Tag.SAID, [])));
  return known;
}

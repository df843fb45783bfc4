/** The world at one tick: columns that ticks are applied to in place. */

import { Kind, Tag, type Frame } from "./layout";
import type { World } from "./world";

export const Status = { ASLEEP: 1, INCAPACITATED: 2, UNCONTROLLED: 4 } as const;

const FIRST_FAILED = 9;
const LAST_FAILED = 72;
const WAITED = 73;
const MOVE = 1;
const FIRST_MOVE_REASON = 12; // the code of "out_of_bounds", the first reason for which a step fails

/** Step code -> step along x. */
export const STEP_X = new Int8Array(256);
/** Step code -> step along y. */
export const STEP_Y = new Int8Array(256);
/** Step code -> the way that the actor faces after it, 255 if that does not change. */
export const STEP_FACING = new Uint8Array(256).fill(255);
const DX = [0, 1, 1, 1, 0, -1, -1, -1];
const DY = [-1, -1, 0, 1, 1, 1, 0, -1];
for (let way = 0; way < 8; way += 1) {
  STEP_X[1 + way] = DX[way];
  STEP_Y[1 + way] = DY[way];
  STEP_FACING[1 + way] = way;
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
  readonly x: Int16Array;
  readonly y: Int16Array;
  readonly beforeX: Int16Array; // where everybody was one tick ago
  readonly beforeY: Int16Array;
  readonly facing: Uint8Array;
  readonly status: Uint8Array;
  readonly thingState: Uint8Array;
  readonly thingStock: Int32Array;
  ground = new Map<string, number>(); // "x,y,kind" -> amount
  private readonly steps: Uint8Array; // room to unpack step codes in
  thingsVersion = 0; // grows whenever an object or a heap changed

  constructor(readonly world: World) {
    this.steps = new Uint8Array(world.actors);
    this.x = new Int16Array(world.actors);
    this.y = new Int16Array(world.actors);
    this.beforeX = new Int16Array(world.actors);
    this.beforeY = new Int16Array(world.actors);
    this.facing = new Uint8Array(world.actors);
    this.status = new Uint8Array(world.actors);
    this.thingState = new Uint8Array(world.things);
    this.thingStock = new Int32Array(world.things);
  }

  /** Begin from a keyframe. Nobody is on the way from anywhere. */
  reset(frame: Frame): void {
    this.tick = frame.tick;
    this.timeMs = frame.timeMs;
    this.x.set(frame.i16(Tag.ACTOR_X));
    this.y.set(frame.i16(Tag.ACTOR_Y));
    this.beforeX.set(this.x);
    this.beforeY.set(this.y);
    this.facing.set(frame.u8(Tag.ACTOR_FACING));
    this.status.set(frame.u8(Tag.ACTOR_STATUS));
    this.thingState.set(frame.u8(Tag.OBJECT_STATE));
    this.thingStock.set(frame.i32(Tag.OBJECT_STOCK));
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
    const { x, y, facing } = this;
    this.beforeX.set(x);
    this.beforeY.set(y);
    const steps = stepsOf(frame, x.length, this.steps);
    for (let row = 0; row < steps.length; row += 1) {
      const code = steps[row];
      if (code === 0) continue;
      x[row] += STEP_X[code];
      y[row] += STEP_Y[code];
      const way = STEP_FACING[code];
      if (way !== 255) facing[row] = way;
    }
    const rows = frame.u32(Tag.STEP_ROWS); // of the short form; there are none in the long one
    const codes = frame.u8(Tag.STEP_CODES);
    for (let at = 0; at < rows.length; at += 1) {
      const row = rows[at];
      const code = codes[at];
      x[row] += STEP_X[code];
      y[row] += STEP_Y[code];
      const way = STEP_FACING[code];
      if (way !== 255) facing[row] = way;
    }
    const placed = frame.u32(Tag.PLACE_ROWS);
    const places = frame.i16(Tag.PLACES);
    const ways = frame.u8(Tag.PLACE_FACING);
    for (let at = 0; at < placed.length; at += 1) {
      x[placed[at]] = places[at];
      y[placed[at]] = places[placed.length + at];
      facing[placed[at]] = ways[at];
    }
    const changed = frame.u32(Tag.STATUS_ROWS);
    const bits = frame.u8(Tag.STATUS);
    for (let at = 0; at < changed.length; at += 1) this.status[changed[at]] = bits[at];
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
    }
  }

  /** Who stands on a tile, or -1. */
  actorAt(tileX: number, tileY: number): number {
    for (let row = 0; row < this.x.length; row += 1) {
      if (this.x[row] === tileX && this.y[row] === tileY) return row;
    }
    return -1;
  }
}

export type ThingChange = [row: number, field: string, value: number] | [x: number, y: number, kind: number, amount: number];

export function thingChanges(frame: Frame): ThingChange[] {
  return frame.json<ThingChange[]>(Tag.OBJECTS, []);
}

const RARE = 15; // the number of all codes that have none of their own

/** The step code of each actor, unpacked; empty if the frame has the short form. */
export function stepsOf(frame: Frame, actors: number, room: Uint8Array = new Uint8Array(actors)): Uint8Array {
  const packed = frame.u8(Tag.STEPS);
  if (!packed.length) return room.subarray(0, 0);
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
  if (code >= 1 && code <= 8) return { action: MOVE, reason: 0, direction: code - 1 };
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

/** The failed steps of a tick. */
export function failedSteps(frame: Frame, actors: number): FailedSteps {
  const known = failed.get(frame);
  if (known) return known;
  const found: FailedSteps = { found: [], more: 0 };
  const note = (row: number, code: number) => {
    if (found.found.length < MOST_FAILED) {
      found.found.push([row, FIRST_MOVE_REASON + ((code - FIRST_FAILED) >> 3), (code - FIRST_FAILED) & 7]);
    } else found.more += 1;
  };
  const steps = stepsOf(frame, actors);
  for (let row = 0; row < steps.length; row += 1) {
    if (steps[row] >= FIRST_FAILED && steps[row] <= LAST_FAILED) note(row, steps[row]);
  }
  const rows = frame.u32(Tag.STEP_ROWS); // of the short form; there are none in the long one
  const codes = frame.u8(Tag.STEP_CODES);
  for (let at = 0; at < rows.length; at += 1) {
    if (codes[at] >= FIRST_FAILED && codes[at] <= LAST_FAILED) note(rows[at], codes[at]);
  }
  failed.set(frame, found);
  return found;
}


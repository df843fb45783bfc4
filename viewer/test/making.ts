/** Frames and films made by hand, for tests. */

import { Kind, Tag } from "../src/codes";
import { Film } from "../src/film/film";
import type { Source } from "../src/film/source";
import { Frame } from "../src/frames/layout";
import type { World } from "../src/frames/world";

type Section = ArrayBufferView | string | object;

/** A frame with these sections: typed arrays as they are, everything else as JSON. */
export function frameOf(kind: number, tick: number, sections: Partial<Record<number, Section>> = {}): Frame {
  const parts = Object.entries(sections).map(([tag, value]) => {
    const view = ArrayBuffer.isView(value) ? value : new TextEncoder().encode(JSON.stringify(value));
    return [Number(tag), new Uint8Array(view.buffer, view.byteOffset, view.byteLength)] as const;
  });
  const table = new Map<number, [number, number]>();
  let size = 0;
  for (const [tag, bytes] of parts) {
    table.set(tag, [size, bytes.length]);
    size += (bytes.length + 7) & ~7;
  }
  const buffer = new ArrayBuffer(size);
  for (const [tag, bytes] of parts) new Uint8Array(buffer).set(bytes, table.get(tag)?.[0]);
  return new Frame(kind, tick, tick * 1000, size, buffer, table);
}

const ACTIONS = ["Wait", "Move", "Pickup", "Use", "Say"];

/** A film of some characters, with windows of 64 ticks unless it is told otherwise. */
export function filmOf(ids: string[], { windowTicks = 64, hearing = 4 } = {}): Film {
  const info = {
    window_ticks: windowTicks,
    tick_ms: 1000,
    hearing_radius: hearing,
    actions: ACTIONS,
    reasons: ["none", "out_of_reach"],
    items: ["berries"],
    item_words: [["berries", "berries"]],
  };
  const world = {
    info,
    actors: ids.length,
    things: 0,
    thingX: new Int16Array(0),
    thingY: new Int16Array(0),
    actorIds: ids,
    nameOf: (row: number) => ids[row],
    targetName: (id: string) => id,
    rowOf: new Map(ids.map((id, row) => [id, row])),
  } as unknown as World;
  const film = new Film(world, {} as Source);
  film.span = { ...film.span, first: 1, last: 10_000 };
  return film;
}

/** Everybody's places after a tick. */
export function keyframeOf(tick: number, places: [x: number, y: number][]): Frame {
  const none = new Uint8Array(places.length);
  return frameOf(Kind.KEYFRAME, tick, {
    [Tag.ACTOR_X]: Int16Array.from(places, ([x]) => x),
    [Tag.ACTOR_Y]: Int16Array.from(places, ([, y]) => y),
    [Tag.ACTOR_FACING]: none,
    [Tag.ACTOR_STATUS]: none,
  });
}

/** What a tick changes: who goes which way (0 is north, 2 east), who is put where, and anything else. */
export function tickOf(
  tick: number,
  { steps = {}, put = {}, ...more }: { steps?: Record<number, number>; put?: Record<number, [number, number]> } & Partial<Record<number, Section>> = {},
): Frame {
  const walkers = Object.entries(steps);
  const placed = Object.entries(put);
  return frameOf(Kind.TICK, tick, {
    [Tag.STEP_ROWS]: Uint32Array.from(walkers, ([row]) => Number(row)),
    [Tag.STEP_CODES]: Uint8Array.from(walkers, ([, way]) => 1 + way),
    [Tag.PLACE_ROWS]: Uint32Array.from(placed, ([row]) => Number(row)),
    [Tag.PLACES]: Int16Array.from([...placed.map(([, at]) => at[0]), ...placed.map(([, at]) => at[1])]),
    [Tag.PLACE_FACING]: new Uint8Array(placed.length),
    ...more,
  });
}

/** What agents told with a tick, or how they were doing after it. */
export function notesOf(tick: number, tag: number, entries: [tick: number, row: number, state: string, detail: string][]): Frame {
  return frameOf(Kind.NOTES, tick, { [tag]: entries });
}

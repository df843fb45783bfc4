/** What happened, as lists show it: one entry for each thing worth telling, filtered and newest first. */

import type { App } from "./app";
import { Tag } from "./frames/layout";
import { Status, failedSteps, thingChanges } from "./frames/scene";
import type { EventType, Filters } from "./hash";
import { deed, effect, plain } from "./words";

export interface Entry {
  tick: number;
  type: EventType;
  row: number; // the character, or -1
  x: number;
  y: number;
  text: string;
  bad?: boolean;
}

/** All that happened in a tick that is at hand. Places are those of the tick shown where the frame has none. */
export function entriesOf(app: App, tick: number): Entry[] {
  const { film, world } = app;
  const frame = film.tickFrame(tick);
  const entries: Entry[] = [];
  const add = (type: EventType, row: number, text: string, place?: [number, number], bad?: boolean) => {
    const [x, y] = place ?? (row >= 0 ? [film.scene.xOf(row), film.scene.yOf(row)] : [-1, -1]);
    entries.push({ tick, type, row, x, y, text, bad });
  };
  if (frame) {
    for (const [row, , text, x, y] of frame.json<[number, string, string, number, number][]>(Tag.SAID, [])) {
      add("speech", row, text, [x, y]);
    }
    const details = new Map(
      frame.json<[number, string, [string, number][]][]>(Tag.DETAILS, []).map((one) => [one[0], one] as const),
    );
    const rows = frame.u32(Tag.RESULT_ROWS);
    const codes = frame.u8(Tag.RESULT_CODES);
    for (let at = 0; at < rows.length; at += 1) {
      const action = world.info.actions[codes[at]];
      const reason = codes[rows.length + at];
      if (!reason && (action === "Say" || action === "Wait" || action === "Move")) continue;
      const detail = details.get(rows[at]);
      const result = { action: codes[at], reason, direction: -1 };
      const effects = detail?.[2].map(effect).join(", ");
      add(
        reason ? "failure" : "action",
        rows[at],
        deed(world, result, detail?.[1]) + (effects ? ` (${effects})` : ""),
        undefined,
        reason > 0,
      );
    }
    const { found, more } = failedSteps(frame, world.actors);
    for (const [row, reason, way] of found) {
      add("failure", row, deed(world, { action: 1, reason, direction: way }), undefined, true);
    }
    if (more) add("failure", -1, `and ${more} more could not go where they wanted`, undefined, true);
    for (const change of thingChanges(frame)) {
      if (change.length === 4) {
        const [x, y, item, amount] = change;
        add("object", -1, `${amount} ${world.info.items[item]} on the ground`, [x, y]);
      } else if (change[1] === "state") {
        const thing = change[0];
        const place: [number, number] = [world.thingX[thing], world.thingY[thing]];
        add("object", -1, `${world.thingIds[thing]} is ${plain(world.kindOf(thing).states[change[2]] ?? "?")}`, place);
      }
    }
  }
  for (const { row, before, after } of film.statusChangesAt(tick)) {
    const changed = before ^ after;
    if (changed & Status.UNCONTROLLED) {
      const gone = Boolean(after & Status.UNCONTROLLED);
      add("control", row, gone ? "has nobody who controls it" : "is controlled", undefined, gone);
    }
    if (changed & Status.INCAPACITATED) {
      const down = Boolean(after & Status.INCAPACITATED);
      add("control", row, down ? "is too hungry to go on" : "is on its feet again", undefined, down);
    }
  }
  for (const mark of film.marksAt(tick)) {
    add("thought", mark.row, mark.error_type ? `no answer: ${mark.error_type}` : mark.brief || "(no words)", undefined, !!mark.error_type);
  }
  return entries;
}

export function passes(app: App, entry: Entry, filters: Filters): boolean {
  if (filters.types.length && !filters.types.includes(entry.type)) return false;
  if (filters.actor) {
    const id = entry.row >= 0 ? app.world.actorIds[entry.row] : "";
    if (!id.toLowerCase().includes(filters.actor.toLowerCase())) return false;
  }
  const { region } = filters;
  return !region || (entry.x >= region.left && entry.x <= region.right && entry.y >= region.top && entry.y <= region.bottom);
}

/** The newest entries up to a tick. Ticks that are not at hand end the list; `from` is where it ends. */
export function recentEntries(app: App, tick: number, most: number): { entries: Entry[]; from: number } {
  const filters = app.filters.value;
  const entries: Entry[] = [];
  const limit = Math.max(app.film.span.first, tick - 2000);
  let at = tick;
  for (; at >= limit && entries.length < most; at -= 1) {
    if (!app.film.tickFrame(at)) break;
    entries.push(...entriesOf(app, at).filter((entry) => passes(app, entry, filters)).reverse());
  }
  return { entries: entries.slice(0, most), from: at };
}

export interface Conversation {
  key: string;
  rows: number[];
  lines: { row: number; tick: number; text: string }[];
}

const PAUSE_TICKS = 12;

/** What was said, put together where people were near each other and one line followed the other. */
export function conversations(app: App, tick: number, most: number): Conversation[] {
  const { film, world } = app;
  const reach = world.info.hearing_radius;
  const open: (Conversation & { x: number; y: number; last: number })[] = [];
  let first = tick;
  while (first > film.span.first && tick - first < 400 && film.tickFrame(first - 1)) first -= 1;
  for (let at = first; at <= tick; at += 1) {
    const said = film.tickFrame(at)?.json<[number, string, string, number, number][]>(Tag.SAID, []) ?? [];
    for (const [row, , text, x, y] of said) {
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

/** What characters did in a tick, in words; frames that are at hand only. */

import { Tag } from "../codes";
import type { App } from "../app";
import { type Frame } from "../frames/layout";
import { resultOf } from "../frames/scene";
import { sentence } from "../words";

export interface Deed {
  tick: number;
  text: string;
  effects: string;
  bad: boolean;
}

type Detail = [row: number, target: string, effects: [string, number][]];

const known = new WeakMap<Frame, Map<number, Deed | null>>(); // row -> its deed
const details = new WeakMap<Frame, Map<number, Detail>>();

/** Return what a character did in a tick; null if nothing, or if the tick is not at hand. */
export function deedAt(app: App, row: number, tick: number): Deed | null {
  const frame = app.film.tickFrame(tick);
  if (!frame) return null;
  let deeds = known.get(frame);
  if (!deeds) known.set(frame, (deeds = new Map()));
  let deed = deeds.get(row);
  if (deed === undefined) deeds.set(row, (deed = readDeed(app, frame, row, tick)));
  return deed;
}

function readDeed(app: App, frame: Frame, row: number, tick: number): Deed | null {
  const result = resultOf(frame, row, app.world.actors);
  if (!result) return null;
  let all = details.get(frame);
  if (!all) details.set(frame, (all = new Map(frame.json<Detail[]>(Tag.DETAILS, []).map((one) => [one[0], one]))));
  const detail = all.get(row);
  const [deed, effects] = sentence(app.world, result, detail?.[1], detail?.[2] ?? []);
  const spoke = app.world.info.actions[result.action] === "Say" && !result.reason;
  const said = spoke && app.speechAt(tick).find((one) => one.row === row);
  return { tick, text: said ? `says “${said.text}”` : deed, effects, bad: result.reason > 0 };
}

/** Return the newest deeds of a character, the newest first, looking back some ticks. */
export function recentDeeds(app: App, row: number, tick: number, most: number, ticks: number): Deed[] {
  const found: Deed[] = [];
  for (let at = tick; at > tick - ticks && found.length < most && app.film.tickFrame(at); at -= 1) {
    const one = deedAt(app, row, at);
    if (one) found.push(one);
  }
  return found;
}

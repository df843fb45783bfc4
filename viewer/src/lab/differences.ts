/** What differs between two runs at the tick that both show. */

import { Status } from "../codes";
import type { Film } from "../film/film";
import { saidIn, type Scene } from "../frames/scene";
import { AWAY } from "../frames/scene";
import type { World } from "../frames/world";
import { plain } from "../words";

export interface Difference {
  row: number; // of a character; -1: an object
  name: string; // of an object
  here: string;
  there: string;
}

export interface OnlySaid {
  tick: number;
  row: number;
  text: string;
  here: boolean; // in the first run
}

const SAID_TICKS = 30;

function placeOf(world: World, scene: Scene, row: number): string {
  if (scene.isAway(row)) return "away";
  const [x, y] = [scene.xOf(row), scene.yOf(row)];
  const zone = world.zoneAt(x, y);
  return zone ? `${plain(zone.name)} (${x}, ${y})` : `(${x}, ${y})`;
}

function stateOf(status: number): string {
  if (status & Status.INCAPACITATED) return "too weak to go on";
  if (status & Status.ASLEEP) return "asleep";
  if (status & Status.UNCONTROLLED) return "nobody controls it";
  return "awake";
}

/** Who stands elsewhere or is in another state, and which objects are. */
export function differencesAt(one: Film, other: Film): Difference[] {
  const { world } = one;
  const [here, there] = [one.scene, other.scene];
  const found: Difference[] = [];
  if (here.tick !== there.tick) return found;
  for (let row = 0; row < world.actors; row += 1) {
    const [left, right] = [placeOf(world, here, row), placeOf(world, there, row)];
    const [mine, other_] = [stateOf(here.statusOf(row)), stateOf(there.statusOf(row))];
    const same = mine === other_ || here.isAway(row) || there.isAway(row);
    if (left === right && same) continue;
    const words = (place: string, state: string) => (same ? place : `${place}, ${state}`);
    found.push({ row, name: "", here: words(left, mine), there: words(right, other_) });
  }
  for (let thing = 0; thing < Math.min(here.thingState.length, there.thingState.length); thing += 1) {
    const kind = world.kindOf(thing);
    const words = (scene: Scene) => {
      if (scene.thingX[thing] === AWAY) return "not there";
      const state = kind.states.length > 1 ? plain(kind.states[scene.thingState[thing]]) : "";
      const stock = scene.thingStock[thing] ? `${scene.thingStock[thing]} ${plain(kind.stock_item)}` : kind.stock_item ? "empty" : "";
      return [state, stock].filter(Boolean).join(", ") || "there";
    };
    const [left, right] = [words(here), words(there)];
    if (left !== right) found.push({ row: -1, name: world.thingIds[thing], here: left, there: right });
  }
  return found;
}

/** What was said shortly before a tick in one of the runs only; null while frames of it are missing. */
export function onlySaid(one: Film, other: Film, tick: number): OnlySaid[] | null {
  const found: OnlySaid[] = [];
  for (let at = tick; at > tick - SAID_TICKS && at >= one.span.first; at -= 1) {
    const [left, right] = [one.tickFrame(at), other.tickFrame(at)];
    if (!left || !right) return at === tick ? null : found;
    const key = ([row, , text]: readonly [number, string, string, ...unknown[]]) => `${row} ${text}`;
    const [mine, others] = [new Set(saidIn(left).map(key)), new Set(saidIn(right).map(key))];
    for (const saying of saidIn(left)) if (!others.has(key(saying))) found.push({ tick: at, row: saying[0], text: saying[2], here: true });
    for (const saying of saidIn(right)) if (!mine.has(key(saying))) found.push({ tick: at, row: saying[0], text: saying[2], here: false });
  }
  return found;
}

/** Ways over the tiles that a character has seen. */

import { WAYS } from "../codes";
import { STEPS, type Moment, type Way } from "./frames";

/** The ground as far as the character has seen it: what was seen before is taken to be as it was. */
export class Known {
  private readonly tiles = new Map<number, boolean>(); // y * 65536 + x -> whether one can step there

  note(moment: Moment): void {
    const side = 2 * moment.radius + 1;
    const [left, top] = [moment.me.x - moment.radius, moment.me.y - moment.radius];
    moment.seen.forEach((seen, at) => {
      if (seen) this.tiles.set((top + Math.floor(at / side)) * 65536 + left + (at % side), moment.walkable[at] === 1);
    });
    this.tiles.set(moment.me.y * 65536 + moment.me.x, true);
  }

  isWalkable(x: number, y: number): boolean {
    return x >= 0 && y >= 0 && this.tiles.get(y * 65536 + x) === true;
  }

  clear(): void {
    this.tiles.clear();
  }
}

/** Whether a step is possible; a diagonal one needs both tiles beside it. */
export function canStep(known: Known, x: number, y: number, way: Way): boolean {
  const [dx, dy] = STEPS[way];
  if (!known.isWalkable(x + dx, y + dy)) return false;
  return !dx || !dy || (known.isWalkable(x + dx, y) && known.isWalkable(x, y + dy));
}

const STRAIGHT_FIRST = [...WAYS].sort((one, other) => one.length - other.length);
const MOST_TILES = 20_000; // that are looked at

/**
 * The first step of a shortest way to a tile that `isGoal` names, around people who stand in the way.
 * `null`: there is none that is known; "there": no step is needed.
 */
export function firstStep(known: Known, moment: Moment, isGoal: (x: number, y: number) => boolean): Way | "there" | null {
  const { me } = moment;
  if (isGoal(me.x, me.y)) return "there";
  const taken = new Set(moment.people.map((one) => one.y * 65536 + one.x));
  const begun = new Map<number, Way | null>([[me.y * 65536 + me.x, null]]);
  let edge: [x: number, y: number][] = [[me.x, me.y]];
  while (edge.length && begun.size < MOST_TILES) {
    const next: [number, number][] = [];
    for (const [x, y] of edge) {
      const first = begun.get(y * 65536 + x) ?? null;
      for (const way of STRAIGHT_FIRST) {
        const [dx, dy] = STEPS[way];
        const key = (y + dy) * 65536 + x + dx;
        if (begun.has(key) || taken.has(key) || !canStep(known, x, y, way)) continue;
        begun.set(key, first ?? way);
        if (isGoal(x + dx, y + dy)) return first ?? way;
        next.push([x + dx, y + dy]);
      }
    }
    edge = next;
  }
  return null;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How far a tile is from a thing, in steps; 0: on it. */
export function distance(box: Box, x: number, y: number): number {
  const dx = Math.max(box.x - x, 0, x - (box.x + box.width - 1));
  const dy = Math.max(box.y - y, 0, y - (box.y + box.height - 1));
  return Math.max(dx, dy);
}

export const tileBox = (x: number, y: number): Box => ({ x, y, width: 1, height: 1 });

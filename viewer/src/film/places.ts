/** Where everybody was at ticks before the one that is shown, for lists that look back. */

import { Tag } from "../codes";
import { type Frame } from "../frames/layout";
import { takeSteps } from "../frames/scene";
import type { Film } from "./film";

const MOST_BYTES = 24 * 1024 * 1024;
const FEWEST = 48; // ticks that are kept, however many characters there are
const MOST = 4096;

interface Kept {
  frame: Frame | undefined; // of the tick, as long as it is that one
  places: Int16Array; // x and y of each character after it
}

export class Places {
  private readonly kept = new Map<number, Kept>(); // tick -> places; the oldest go first
  private readonly most: number;

  constructor(private readonly film: Film) {
    this.most = Math.min(MOST, Math.max(FEWEST, Math.floor(MOST_BYTES / (4 * Math.max(1, film.world.actors)))));
  }

  /** How much memory it takes. */
  get bytes(): number {
    return [...this.kept.values()].reduce((sum, { places }) => sum + places.byteLength, 0);
  }

  /** Keep where everybody is now: in a live world there may be no keyframe for long. */
  note(): void {
    const { scene } = this.film;
    if (scene.tick >= 0 && !this.known(scene.tick)) this.keep(scene.tick, scene.places);
  }

  /** x and y of each character after a tick, until something else is asked for; null if it can't be told. */
  at(tick: number): Int16Array | null {
    const { film } = this;
    const known = this.known(tick);
    if (known) return known;
    let from = tick;
    let begin: Int16Array | null = null;
    for (; from >= tick - 2 * film.windowTicks - 1; from -= 1) {
      begin = this.known(from) ?? placesOf(film.keyframe(from));
      if (begin || !film.tickFrame(from)) break;
    }
    if (!begin) return null;
    let places = this.keep(from, begin);
    for (let at = from + 1; at <= tick; at += 1) {
      places = this.keep(at, places);
      takeSteps(film.tickFrame(at) as Frame, film.world.actors, places, null);
    }
    return places;
  }

  private known(tick: number): Int16Array | null {
    const found = this.kept.get(tick);
    return found?.frame && found.frame === this.film.tickFrame(tick) ? found.places : null;
  }

  private keep(tick: number, from: Int16Array): Int16Array {
    let room = this.kept.get(tick)?.places;
    if (room === from) return room;
    this.kept.delete(tick);
    if (!room && this.kept.size >= this.most) {
      const [oldest, { places }] = this.kept.entries().next().value as [number, Kept];
      this.kept.delete(oldest);
      room = places === from ? undefined : places;
    }
    const places = room ?? new Int16Array(from.length);
    places.set(from);
    this.kept.set(tick, { frame: this.film.tickFrame(tick), places });
    return places;
  }
}

function placesOf(keyframe: Frame | undefined): Int16Array | null {
  if (!keyframe) return null;
  const [x, y] = [keyframe.i16(Tag.ACTOR_X), keyframe.i16(Tag.ACTOR_Y)];
  const places = new Int16Array(2 * x.length);
  for (let row = 0; row < x.length; row += 1) {
    places[2 * row] = x[row];
    places[2 * row + 1] = y[row];
  }
  return places;
}

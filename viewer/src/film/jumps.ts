/** Where the next event is: the digest tells about where, and the frames of that place tell which tick it is. */

import { Tag } from "../codes";
import type { Film } from "./film";
import type { Digest } from "./source";

/** What one can jump to, by its column in the digest. */
export type EventName = "said" | "answers" | "outages";

const HAPPENED: Record<EventName, (film: Film, tick: number) => boolean> = {
  said: (film, tick) => Boolean(film.tickFrame(tick)?.json<unknown[]>(Tag.SAID, []).length),
  answers: (film, tick) => film.marksAt(tick).some((mark) => !mark.error_type),
  outages: (film, tick) => film.marksAt(tick).some((mark) => mark.error_type),
};

/** The next or previous tick with one of these events, or null if there is none. Frames are fetched where it may be. */
export async function nextEvent(film: Film, digest: Digest, names: EventName[], from: number, direction: 1 | -1): Promise<number | null> {
  const { first, step, columns } = digest;
  const count = columns[names[0]]?.length ?? 0;
  const bucketOf = (tick: number) => Math.floor((tick - first) / step);
  for (let at = bucketOf(from + direction); at >= 0 && at < count; at += direction) {
    if (!names.some((name) => columns[name][at] > 0)) continue;
    const low = Math.max(first + at * step, film.span.first, direction > 0 ? from + 1 : -Infinity);
    const high = Math.min(first + (at + 1) * step - 1, film.span.last, direction < 0 ? from - 1 : Infinity);
    if (low > high) continue;
    const begin = direction > 0 ? low : high;
    if (step === 1) return begin;
    const found = await eventWithin(film, names, begin, direction > 0 ? high : low, direction);
    if (found !== null) return found;
    // The digest knows better than the frames that are there. Where one is already, all of them may be behind.
    if (at !== bucketOf(from)) return begin;
  }
  return null;
}

async function eventWithin(film: Film, names: EventName[], begin: number, end: number, direction: 1 | -1): Promise<number | null> {
  let asked = Number.NaN; // the window that was asked for last
  for (let tick = begin; tick !== end + direction; tick += direction) {
    const window = film.windowOf(tick);
    if (!film.tickFrame(tick) && window !== asked) {
      asked = window;
      await film.need(tick, false).catch(() => {}); // what does not come has no events that could be shown
    }
    if (names.some((name) => HAPPENED[name](film, tick))) return tick;
  }
  return null;
}

/** The playhead: which tick is shown, how far everybody is on the way to it, and how time goes on. */

import type { Film } from "./film";

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];
const FAR_BEHIND = 24; // ticks; a live view that is further behind jumps

export class Player {
  position = 0; // ticks; between n - 1 and n everybody is on the way to where tick n puts them
  playing = false;
  speed = 1;
  following = false; // the newest tick of a live world
  waiting = false; // for frames
  private arrivalMs: number; // between new ticks, as seen
  private lastArrival = 0;

  constructor(private readonly film: Film) {
    this.arrivalMs = film.world.info.tick_ms;
  }

  /** The tick that is shown. */
  get tick(): number {
    return Math.ceil(this.position - 1e-9);
  }

  /** How far everybody is on the way, from 0 to 1. */
  get progress(): number {
    return this.position - this.tick + 1;
  }

  /** A new tick came. */
  arrived(now: number): void {
    if (this.lastArrival) {
      const gap = Math.min(10_000, Math.max(5, now - this.lastArrival));
      this.arrivalMs += (gap - this.arrivalMs) * 0.2;
    }
    this.lastArrival = now;
  }

  seek(tick: number): void {
    const { first, last } = this.film.span;
    this.position = Math.min(Math.max(tick, first - 1), Math.max(last, first - 1));
    this.following = false;
    this.load();
  }

  follow(): void {
    this.following = true;
    this.playing = true;
    this.position = this.film.span.last;
    this.load();
  }

  /** Let time pass. Tells whether anything moved. */
  advance(elapsedMs: number): boolean {
    const { film } = this;
    const { first, last } = film.span;
    if (this.tick < first - 1 && this.waiting) this.position = first - 1; // what is gone never comes
    const before = this.position;
    const next = this.next(elapsedMs, last);
    if (next === before) {
      this.waiting = !film.reaches(this.tick);
      if (this.waiting) this.load();
      return false;
    }
    const tick = Math.ceil(next - 1e-9);
    this.waiting = !film.reaches(tick);
    if (this.waiting) {
      void film.need(tick, !film.has(tick - 1)).catch(() => {}); // what goes on from there comes as a whole
      return false;
    }
    this.position = next;
    if (!this.following) this.lookAhead(tick);
    return true;
  }

  private next(elapsedMs: number, last: number): number {
    const before = this.position;
    if (this.following) {
      const behind = last - before;
      if (behind > FAR_BEHIND) return last - 1;
      if (behind <= 0) return before;
      return Math.min(last, before + (elapsedMs / this.arrivalMs) * Math.max(0.6, 1 + 0.4 * (behind - 1)));
    }
    if (!this.playing) return before;
    const next = Math.min(last, before + (elapsedMs * this.speed) / this.film.world.info.tick_ms);
    if (next === last && !this.film.span.growing) this.playing = false;
    return Math.max(before, next);
  }

  /** Get what will be wanted soon. */
  private lookAhead(tick: number): void {
    const soon = tick + Math.ceil(Math.max(this.film.windowTicks / 2, this.speed * 2));
    if (soon <= this.film.span.last && !this.film.has(soon)) void this.film.need(soon, false).catch(() => {});
  }

  /** Get what is to be shown, and how it came to it. */
  load(): void {
    void this.film.need(this.tick).catch(() => {});
  }
}

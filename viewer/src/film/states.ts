/** Which state agents are in at a tick: what was told before its window began, and what was told since. */

import { AgentState } from "../codes";
import type { AgentNote } from "../frames/notes";

const LATE_TICKS = 64; // so much later than it was a state may be told
const MOST_NOTES = 200_000; // that are kept of the beginnings of windows

/** What is known of the states of agents. Of a window without its beginning nothing is: what was told long ago may not hold. */
export class AgentStates {
  private readonly held = new Map<number, AgentNote[]>(); // tick -> the states of all who did not plainly run after it
  private size = 0;
  private askers: ReadonlySet<number> = new Set(); // of the tick and version that was asked for last
  private askersOf = "";

  constructor(
    private readonly film: { readonly windowTicks: number; readonly version: number; agentsAt(tick: number): AgentNote[] },
  ) {}

  /** Take the states that held after a tick, of all agents. */
  hold(tick: number, notes: AgentNote[]): void {
    this.drop(tick);
    this.held.set(tick, notes);
    this.size += 1 + notes.length;
    while (this.size > MOST_NOTES && this.held.size > 1) this.drop(this.held.keys().next().value as number);
  }

  private drop(tick: number): void {
    const there = this.held.get(tick);
    if (there) this.size -= 1 + there.length;
    this.held.delete(tick);
  }

  /** The tick of its window, up to a tick itself, after which all states are known; NaN if there is none. */
  private from(tick: number): number {
    const { windowTicks } = this.film;
    const begin = (Math.ceil(tick / windowTicks) - 1) * windowTicks;
    for (let at = tick; at >= begin; at -= 1) if (this.held.has(at)) return at;
    return Number.NaN;
  }

  /** Who asks a model at a tick. It is another set only if others do. */
  asking(tick: number): ReadonlySet<number> {
    const key = `${tick} ${this.film.version}`;
    if (this.askersOf === key) return this.askers;
    this.askersOf = key;
    const found = new Set<number>();
    const from = this.from(tick);
    for (const note of this.held.get(from) ?? []) if (note.state === AgentState.DELIBERATING) found.add(note.row);
    for (let at = from - LATE_TICKS; at <= tick; at += 1) {
      for (const note of this.film.agentsAt(at)) {
        if (note.known <= from) continue;
        if (note.state === AgentState.DELIBERATING) found.add(note.row);
        else found.delete(note.row);
      }
    }
    const same = found.size === this.askers.size && [...found].every((row) => this.askers.has(row));
    if (!same) this.askers = found;
    return this.askers;
  }

  /** What an agent last told of itself up to a tick, unless it was that it runs as usual. */
  of(row: number, tick: number): AgentNote | null {
    const from = this.from(tick);
    for (let at = tick; at >= from - LATE_TICKS; at -= 1) {
      const told = this.film.agentsAt(at).find((note) => note.row === row && note.known > from);
      if (told) return told.state === AgentState.RUNNING && !told.detail ? null : told;
    }
    return this.held.get(from)?.find((note) => note.row === row) ?? null;
  }
}

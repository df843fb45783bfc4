/** The frames that are at hand, and the scene at any tick that they reach. Windows that nobody looks at are let go. */

import { Kind, Tag } from "../codes";
import { type Frame } from "../frames/layout";
import { agentNotesOf, holdingOf, marksOf, type AgentNote, type Mark } from "../frames/notes";
import { AWAY, Scene } from "../frames/scene";
import type { World } from "../frames/world";
import type { Source, Span } from "./source";
import { AgentStates } from "./states";

const MOST_BYTES = 160 * 1024 * 1024;
const FEWEST_WINDOWS = 4; // that stay, however large they are
const FRAME_BYTES = 1000; // of a frame beside what came over the wire: itself, its buffer and its table of sections
const NOTE_BYTES = 300; // of a mark or note beside its words
const CHANGE_BYTES = 64; // of a changed status
const FEW = 500; // characters; the windows of fewer come at once
const STAY_MS = 120; // after a jump until the rest of its window is asked for

/** What a status was before a tick changed it; also coming into the world and leaving it, as the status `GONE`. */
export interface StatusChange {
  row: number;
  before: number;
  after: number;
}

export const GONE = 128; // the bit of a status for being away, in changes of it

export class Film {
  readonly scene: Scene;
  span: Span = { run_id: "", first: 1, last: 0, growing: false, connected: true, live: false };
  private readonly keyframes = new Map<number, Frame>();
  private readonly ticks = new Map<number, Frame>();
  private readonly marks = new Map<number, Mark[]>(); // tick -> thoughts
  private readonly agents = new Map<number, AgentNote[]>(); // tick -> how agents were doing
  private readonly changes = new Map<number, StatusChange[]>();
  readonly states = new AgentStates(this); // of agents, at any tick
  private readonly asked = new Map<number, Promise<void>>(); // window -> its frames are under way
  private readonly used = new Map<number, number>(); // window -> when it was last wanted
  private rest: { window: number; stop: AbortController } | null = null; // of the window that was jumped into last
  private landing: Promise<void> | null = null; // the tick of a jump is under way
  private target = Number.NaN; // where one jumped last
  private readonly weights = new Map<number, number>(); // window -> about how many bytes it takes
  bytes = 0; // of all of them
  private clock = 0;
  private begin = 0; // the first window of which anything is kept
  private track: { tick: number; status: Uint8Array } | null = null; // the statuses after the last tick taken
  version = 0; // grows with every frame

  constructor(
    readonly world: World,
    private readonly source: Source,
    private readonly mostBytes = MOST_BYTES,
  ) {
    this.scene = new Scene(world);
  }

  get windowTicks(): number {
    return this.world.info.window_ticks || 64;
  }

  /** The window that a tick's changes are in; a tick at its end belongs to it, not to the next one. */
  windowOf(tick: number): number {
    return Math.max(0, Math.ceil(tick / this.windowTicks) - 1);
  }

  has(tick: number): boolean {
    return this.ticks.has(tick) || this.keyframes.has(tick);
  }

  /** Whether frames are under way. */
  get loading(): boolean {
    return this.landing !== null || this.asked.size > 0;
  }

  tickFrame(tick: number): Frame | undefined {
    return this.ticks.get(tick);
  }

  keyframe(tick: number): Frame | undefined {
    return this.keyframes.get(tick);
  }

  marksAt(tick: number): Mark[] {
    return this.marks.get(tick) ?? [];
  }

  agentsAt(tick: number): AgentNote[] {
    return this.agents.get(tick) ?? [];
  }

  statusChangesAt(tick: number): StatusChange[] {
    return this.changes.get(tick) ?? [];
  }

  /** Take a frame, from a window or from the live stream. */
  add(frame: Frame): void {
    this.version += 1;
    if (frame.kind === Kind.KEYFRAME) {
      if (!this.keyframes.has(frame.tick)) this.weigh(frame.tick + 1, FRAME_BYTES + frame.bytes); // it begins the next tick
      this.keyframes.set(frame.tick, frame);
      const status = frame.u8(Tag.ACTOR_STATUS).slice();
      frame.i16(Tag.ACTOR_X).forEach((x, row) => x === AWAY && (status[row] |= GONE));
      this.track = { tick: frame.tick, status };
    } else if (frame.kind === Kind.TICK) {
      if (!this.ticks.has(frame.tick)) this.weigh(frame.tick, FRAME_BYTES + frame.bytes);
      this.ticks.set(frame.tick, frame);
      this.noteStatus(frame);
    } else if (frame.kind === Kind.NOTES) {
      this.addNotes(frame);
    }
  }

  /** Take a frame of the live stream, which makes the film longer. */
  addNewest(frame: Frame): void {
    this.add(frame);
    if (frame.kind !== Kind.NOTES) {
      if (frame.tick > this.span.last) this.span = { ...this.span, last: frame.tick };
      this.touch(frame.tick);
    }
    this.letGo();
  }

  /** Somebody looks at a tick, so its window stays. */
  private touch(tick: number): void {
    this.used.set(this.windowOf(tick), (this.clock += 1));
  }

  /** Count what is kept for a tick. */
  private weigh(tick: number, bytes: number): void {
    const window = this.windowOf(tick);
    this.weights.set(window, (this.weights.get(window) ?? 0) + bytes);
    this.bytes += bytes;
    if (!this.used.has(window)) this.used.set(window, 0); // nobody has asked for it yet
  }

  private addNotes(frame: Frame): void {
    const held = holdingOf(frame);
    if (held) this.states.hold(frame.tick, held);
    for (const mark of marksOf(frame)) {
      const there = this.marks.get(mark.tick) ?? [];
      if (there.some((one) => one.row === mark.row && one.brief === mark.brief)) continue;
      this.marks.set(mark.tick, [...there, mark]);
      this.weigh(mark.tick, NOTE_BYTES + 2 * (mark.brief.length + mark.model.length));
    }
    for (const note of agentNotesOf(frame)) {
      const there = this.agents.get(note.tick) ?? [];
      const others = there.filter((one) => one.row !== note.row);
      this.agents.set(note.tick, [...others, note]);
      if (others.length === there.length) this.weigh(note.tick, NOTE_BYTES + 2 * note.detail.length);
    }
  }

  private noteStatus(frame: Frame): void {
    if (!this.track || this.track.tick !== frame.tick - 1) {
      this.track = null;
      return;
    }
    const { status } = this.track;
    const before = new Map<number, number>(); // row -> its status before the tick
    const change = (row: number, after: number) => {
      if (!before.has(row)) before.set(row, status[row]);
      status[row] = after;
    };
    const rows = frame.u32(Tag.STATUS_ROWS);
    const bits = frame.u8(Tag.STATUS);
    for (let at = 0; at < rows.length; at += 1) change(rows[at], bits[at] | (status[rows[at]] & GONE));
    const placed = frame.u32(Tag.PLACE_ROWS);
    const x = frame.i16(Tag.PLACES);
    for (let at = 0; at < placed.length; at += 1) {
      const gone = x[at] === AWAY ? GONE : 0;
      if ((status[placed[at]] & GONE) !== gone) change(placed[at], status[placed[at]] ^ GONE);
    }
    const found: StatusChange[] = [...before].map(([row, was]) => ({ row, before: was, after: status[row] }));
    if (found.length) {
      if (!this.changes.has(frame.tick)) this.weigh(frame.tick, CHANGE_BYTES * found.length);
      this.changes.set(frame.tick, found);
    }
    this.track.tick = frame.tick;
  }

  /** The keyframe to begin from for a tick, if all ticks after it up to that one are at hand. */
  private start(tick: number): number {
    for (let at = tick; at >= tick - 2 * this.windowTicks - 1; at -= 1) {
      if (this.keyframes.has(at)) return at;
      if (!this.ticks.has(at)) return Number.NaN;
    }
    return Number.NaN;
  }

  /** Whether the scene of a tick can be shown at once. */
  reaches(tick: number): boolean {
    if (this.scene.tick === tick || (this.scene.tick === tick - 1 && this.ticks.has(tick))) return true;
    return !Number.isNaN(this.start(tick));
  }

  /** Bring the scene to a tick. It has to be within reach. */
  show(tick: number): void {
    const { scene } = this;
    this.touch(tick);
    if (scene.tick === tick) return;
    if (scene.tick !== tick - 1 || !this.ticks.has(tick)) {
      let begin = this.start(tick);
      // Begin one tick earlier where that is possible, so that everybody is on the way from somewhere.
      if (begin === tick && this.ticks.has(tick) && !Number.isNaN(this.start(tick - 1))) begin = this.start(tick - 1);
      if (scene.tick < begin || scene.tick > tick) scene.reset(this.keyframes.get(begin) as Frame);
    }
    while (scene.tick < tick) scene.apply(this.ticks.get(scene.tick + 1) as Frame);
  }

  /** Get the window with a tick, unless it is there; first of all the tick itself if that is where one `jumps`. */
  need(tick: number, jumps = true): Promise<void> {
    const { span } = this;
    const wanted = Math.min(Math.max(tick, span.first), Math.max(span.last, span.first));
    const window = this.windowOf(wanted);
    this.touch(wanted);
    if (this.ticks.has(wanted) && !Number.isNaN(this.start(wanted))) return Promise.resolve();
    // In a crowd a window takes a while, so what is to be seen comes first and how it came to it afterwards.
    if (jumps && this.world.actors > FEW && !this.has(wanted)) return this.land(wanted);
    return this.asked.get(window) ?? this.ask(window, this.fetch(window));
  }

  private ask(window: number, under: Promise<void>): Promise<void> {
    this.asked.set(window, under);
    under
      .catch(() => {}) // whoever needs one of its ticks asks again
      .finally(() => this.asked.get(window) === under && this.asked.delete(window));
    return under;
  }

  /** Get a single tick, even of a window that is under way. One comes at a time, and then the one that is wanted by then. */
  private land(tick: number): Promise<void> {
    this.target = tick;
    if (this.landing) return this.landing;
    const window = this.windowOf(tick);
    if (this.rest?.window !== window) this.stopRest(); // nobody has a use for what is left of where one was before
    const landing = this.source.state(tick).then((frames) => this.take(frames));
    this.landing = landing;
    landing
      .then(() => this.fetchRest(window))
      .catch(() => {}) // whoever needs it asks again
      .finally(() => {
        this.landing = null;
        if (this.target !== tick && !this.has(this.target)) void this.land(this.target).catch(() => {});
      });
    return landing;
  }

  /** Get a window some time after one of its ticks: whoever drags the timeline along has no use for it. */
  private fetchRest(window: number): void {
    if (this.asked.has(window)) return;
    this.stopRest();
    const stop = new AbortController();
    this.rest = { window, stop };
    const come = async () => {
      await new Promise((go) => setTimeout(go, STAY_MS));
      stop.signal.throwIfAborted();
      await this.fetch(window, stop.signal);
    };
    const under = this.ask(window, come());
    under.catch(() => {}).finally(() => this.rest?.stop === stop && (this.rest = null));
  }

  private stopRest(): void {
    if (!this.rest) return;
    this.rest.stop.abort();
    this.asked.delete(this.rest.window);
    this.rest = null;
  }

  private async fetch(window: number, signal?: AbortSignal): Promise<void> {
    const first = window * this.windowTicks + 1;
    const last = Math.max(first, Math.min((window + 1) * this.windowTicks, this.span.last));
    this.take(await this.source.window(first, last, signal));
  }

  private take(frames: Frame[]): void {
    const kept = this.track;
    for (const frame of frames) this.add(frame);
    if (kept && (!this.track || this.track.tick < kept.tick)) this.track = kept; // the live end goes on by itself
    this.letGo();
  }

  /** Let go of what the server has let go, and of what nobody has looked at for longest if it is too much. */
  private letGo(): void {
    const begin = this.windowOf(this.span.first);
    if (begin > this.begin) {
      this.begin = begin;
      for (const window of [...this.used.keys()]) if (window < begin) this.drop(window);
    }
    while (this.bytes > this.mostBytes && this.used.size > FEWEST_WINDOWS) {
      const [oldest] = [...this.used.entries()].reduce((one, other) => (other[1] < one[1] ? other : one));
      this.drop(oldest);
    }
  }

  private drop(window: number): void {
    this.used.delete(window);
    this.bytes -= this.weights.get(window) ?? 0;
    this.weights.delete(window);
    const first = window * this.windowTicks;
    for (let tick = first; tick <= first + this.windowTicks; tick += 1) {
      if (this.windowOf(tick + 1) === window) this.keyframes.delete(tick);
      if (this.windowOf(tick) !== window) continue;
      for (const kept of [this.ticks, this.marks, this.agents, this.changes]) kept.delete(tick);
    }
  }
}

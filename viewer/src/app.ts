/** What the page knows and shows: one object that the map, the panels and the keyboard share. */

import { batch, signal } from "@preact/signals";
import { Kind, Status } from "./codes";
import type { MapView } from "./draw/map";
import type { Speech } from "./draw/overlay";
import { EventLog } from "./events";
import { chooseShirt, chooseTeam } from "./draw/colours";
import { Film } from "./film/film";
import { nextEvent, type EventName } from "./film/jumps";
import { Player } from "./film/player";
import type { Digest, Source } from "./film/source";
import { Places } from "./film/places";
import { saidIn } from "./frames/scene";
import { World } from "./frames/world";
import { readHash, writeHash, type Filters, type Tab } from "./hash";
import type { Moment } from "./play/frames";
import { RunBench } from "./lab/bench";
import { Game, type Timers } from "./play/game";
import { distance } from "./play/path";
import { plain } from "./words";

const PANEL_MS = 120; // how often panels follow a playing film
const DIGEST_MS = 2000;
const SPAN_MS = 1000;
const ADDRESS_MS = 300; // how long something is shown before the address tells it: browsers bear few changes of it

const TIMERS: Timers = {
  now: () => performance.now(),
  after: (ms, act) => window.setTimeout(act, ms),
  stop: (timer) => window.clearTimeout(timer),
};

export class App {
  readonly world: World;
  readonly film: Film;
  readonly player: Player;
  readonly places: Places;
  readonly log: EventLog;
  map: MapView | null = null;

  readonly tick = signal(0); // the tick that panels show
  readonly last = signal(0); // the newest tick
  readonly playing = signal(false);
  readonly speed = signal(1);
  readonly live = signal(false); // whether the newest tick is followed
  readonly connected = signal(true);
  readonly waiting = signal(false);
  readonly selected = signal(-1);
  readonly hovered = signal(-1);
  readonly following = signal(false);
  readonly sight = signal(true);
  readonly daylight = signal(true);
  readonly zoneNames = signal(true); // on the map
  readonly tab = signal<Tab>("log");
  readonly panel = signal(true);
  readonly help = signal(false);
  readonly legend = signal(false);
  readonly filters = signal<Filters>({ types: [], actor: "", region: null });
  readonly digest = signal<Digest | null>(null);
  readonly drawnTick = signal<number | null>(null); // the tick that the map and its notices show completely
  readonly mayPlay = signal(false); // whether visitors may take characters
  readonly bench = signal<RunBench | null>(null); // where runs can be branched and compared
  readonly game = signal<Game | null>(null); // while a character is played here
  readonly gameVersion = signal(0); // grows with every change of it
  readonly loaded = signal(0); // grows when frames came, for panels that list them

  private stopWatching = () => {};
  private left = false; // the page is about to begin anew
  private moves = 0; // how often somebody went to another place in time
  private wish: { names: EventName[]; direction: 1 | -1; moves: number } | null = null; // the jump to make next
  private searching = false; // for where a jump goes to
  private spoken = new Map<number, Speech[]>(); // tick -> what was said
  private visiting = -1;
  private lastPanel = 0;
  private address = { text: "", since: 0 }; // what the address is to tell, and since when

  private constructor(
    world: World,
    readonly source: Source,
  ) {
    this.world = world;
    world.actorIds.forEach((id, row) => {
      chooseTeam(id, world.info.people[row]?.team ?? "", world.typeOf(row));
      const colour = world.info.people[row]?.colour;
      if (colour) chooseShirt(id, colour);
    });
    this.film = new Film(world, source);
    this.player = new Player(this.film);
    this.places = new Places(this.film);
    this.log = new EventLog(this.film, this.places);
  }

  static async open(source: Source): Promise<App> {
    const app = new App(new World(await source.hello()), source);
    app.film.span = await source.span();
    app.mayPlay.value = app.film.span.play === true && source.door !== undefined;
    if (app.film.span.lab && source.lab) {
      app.bench.value = new RunBench(source.lab, app);
      void app.bench.value.begin();
    }
    await app.begin();
    return app;
  }

  private async begin(): Promise<void> {
    const { film, player } = this;
    const wanted = readHash(location.hash);
    batch(() => {
      this.filters.value = wanted.filters;
      if (wanted.tab) this.tab.value = wanted.tab;
      this.selected.value = wanted.actor ? (this.world.rowOf.get(wanted.actor) ?? -1) : -1;
      if (this.selected.value >= 0 && !wanted.tab) this.tab.value = "inspector";
    });
    if (film.span.live) {
      this.stopWatching = this.source.watch(
        (frame) => {
          film.addNewest(frame);
          if (frame.kind === Kind.TICK) player.arrived(performance.now());
          else if (frame.kind === Kind.KEYFRAME) void this.refreshSpan(); // the server begins anew: with the same run?
        },
        (connected) => (this.connected.value = connected),
      );
    }
    if (wanted.tick !== null) player.seek(wanted.tick);
    else if (film.span.live) player.follow();
    else player.seek(film.span.first);
    await film.need(player.tick).catch(() => {});
    void this.refreshDigest();
    window.setInterval(() => void this.refreshDigest(), DIGEST_MS);
    if (this.world.info.mode !== "clip") window.setInterval(() => void this.refreshSpan(), SPAN_MS);
  }

  /** Whether there is a record from which a story can be made. */
  get hasStory(): boolean {
    return this.world.info.mode === "replay" && this.source.story !== undefined;
  }

  /** What is waited for: the first answer of a model, in a world that is told to have one. */
  get awaits(): string {
    const { live, awaits } = this.film.span;
    if (!live || !awaits) return "";
    return this.digest.value?.columns.answers.some((count) => count > 0) ? "" : awaits;
  }

  close(): void {
    this.stopWatching();
  }

  private async refreshDigest(): Promise<void> {
    const known = this.digest.peek();
    const { span } = this.film;
    if (known && !span.growing && known.first + known.ticks > span.last) return;
    this.digest.value = await this.source.digest().catch(() => known);
  }

  private async refreshSpan(): Promise<void> {
    const span = await this.source.span().catch(() => null);
    if (!span) {
      this.connected.value = false;
      return;
    }
    this.connected.value = span.connected;
    if (!span.run_id) return; // the server does not know more than we do
    if (span.run_id !== this.world.info.run_id) this.beginAnew();
    else this.film.span = { ...span, last: Math.max(span.last, span.live ? this.film.span.last : span.last) };
  }

  /** The server shows another run, of which nothing is known here: map, names and ticks are others. */
  private beginAnew(): void {
    if (this.left) return;
    this.left = true;
    this.close();
    this.setAddress(this.addressNow());
    location.reload();
  }

  /** Brings the camera to who is visited, once the tick that is wanted is there. */
  private arrive(): void {
    const { scene } = this.film;
    const row = this.visiting;
    if (row < 0 || !this.map || scene.tick !== this.player.tick) return;
    this.visiting = -1;
    if (scene.isAway(row)) return;
    this.map.camera.go(scene.xOf(row) + 0.5, scene.yOf(row) + 0.5, Math.max(this.map.camera.scale, 34));
  }

  /** Called after each frame of the map: let the panels follow. */
  sync(now: number): void {
    const { player } = this;
    this.arrive();
    this.places.note();
    const still = !player.playing && !player.following;
    if (now - this.lastPanel >= PANEL_MS || (still && this.tick.peek() !== player.tick)) this.syncPanels(now);
    const drawn = this.map?.drawnTick ?? null;
    this.drawnTick.value = drawn === this.tick.peek() && !this.waiting.peek() ? drawn : null;
  }

  private syncPanels(now: number): void {
    const { player, film } = this;
    this.lastPanel = now;
    batch(() => {
      if (film.reaches(player.tick)) this.tick.value = player.tick;
      this.last.value = film.span.last;
      this.playing.value = player.playing || player.following;
      this.speed.value = player.speed;
      this.live.value = player.following;
      this.waiting.value = player.waiting || this.searching;
      this.loaded.value = film.version;
    });
    this.remember(now);
  }

  /** Keep in the address what is shown, once it stays. */
  private remember(now: number): void {
    const text = this.addressNow();
    if (text !== this.address.text) this.address = { text, since: now };
    if (now - this.address.since >= ADDRESS_MS) this.setAddress(text);
  }

  private setAddress(text: string): void {
    if (text !== location.hash) history.replaceState(null, "", text || location.pathname + location.search);
  }

  /** What is shown; nothing of a tick that another run has not. */
  private addressNow(): string {
    const id = this.selected.peek() >= 0 ? this.world.actorIds[this.selected.peek()] : "";
    const tick = this.player.following || this.player.playing || this.left ? null : this.player.tick;
    return writeHash({ tick, actor: id, tab: this.tab.peek(), filters: this.filters.peek() });
  }

  // What people do

  select(row: number): void {
    batch(() => {
      this.selected.value = row;
      if (row >= 0) {
        this.tab.value = "inspector";
        this.panel.value = true;
      } else this.following.value = false;
    });
    this.map?.touch();
  }

  /** Go to somebody on the map. */
  visit(row: number): void {
    this.select(row);
    this.visiting = row;
    this.map?.touch();
  }

  // Playing

  nameOf(id: string): string {
    const row = this.world.rowOf.get(id);
    return row === undefined ? id : this.world.nameOf(row);
  }

  /** Whether a person plays a character at the tick that is shown. */
  isPlayed(row: number): boolean {
    return (this.film.scene.statusOf(row) & Status.PLAYED) > 0;
  }

  /** Take a character; from now on the page shows the newest tick and what that character sees. */
  play(row: number, token = this.source.door?.token ?? ""): void {
    const { door } = this.source;
    if (!door || this.game.peek()) return;
    const name = `person:${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
    const game = new Game(this.world.actorIds[row], name, door.dial, TIMERS, token, () => (this.gameVersion.value += 1));
    this.goLive();
    batch(() => {
      this.selected.value = row;
      this.panel.value = true;
      this.game.value = game;
    });
    this.follow(true);
    game.start();
  }

  playAgain(token: string): void {
    const row = this.selected.peek();
    this.game.value = null;
    this.play(row, token);
  }

  /** Give the character back to its agent. */
  leave(): void {
    const game = this.game.peek();
    if (!game) return;
    game.leave();
    batch(() => {
      this.game.value = null;
      this.tab.value = "inspector";
    });
    this.map?.touch();
  }

  /** What the character perceives that is played here. */
  perceived(): Moment | null {
    const game = this.game.peek();
    return game && !game.over ? game.moment : null;
  }

  /** Somebody who plays has pointed to a tile: walk there, or to who or what is there. */
  tap(x: number, y: number, row: number): void {
    const game = this.game.peek();
    const moment = game?.moment;
    if (!game || !moment) return;
    const person = row >= 0 ? moment.people.find((one) => one.id === this.world.actorIds[row]) : undefined;
    const thing = moment.things.find((one) => distance(one, x, y) === 0);
    if (person) game.goToPerson(person, this.nameOf(person.id));
    else if (thing) game.goToThing(thing, thing.kind === "ground" ? "spot" : plain(thing.kind));
    else game.goTo(x, y);
  }

  follow(on: boolean): void {
    this.following.value = on && this.selected.peek() >= 0;
    if (this.following.peek() && this.map) {
      const { camera } = this.map;
      camera.go(camera.x, camera.y, Math.max(camera.scale, 34));
    }
    this.map?.touch();
  }

  seek(tick: number): void {
    this.moves += 1;
    this.player.seek(tick);
    this.map?.touch();
  }

  step(by: number): void {
    this.player.playing = false;
    this.seek(this.player.tick + by);
  }

  toggle(): void {
    const { player, film } = this;
    this.moves += 1;
    if (player.following) {
      player.following = false;
      player.playing = false;
      player.position = player.tick;
    } else {
      player.playing = !player.playing;
      if (player.playing && player.tick >= film.span.last && !film.span.growing) player.seek(film.span.first - 1);
    }
    this.lastPanel = 0;
  }

  setSpeed(speed: number): void {
    this.player.speed = speed;
    this.speed.value = speed;
  }

  goLive(): void {
    this.moves += 1;
    this.player.follow();
  }

  /** Go to the next or previous tick with one of these events. Whoever goes elsewhere meanwhile stays there. */
  jump(names: EventName[], direction: 1 | -1): void {
    this.wish = { names, direction, moves: this.moves };
    if (!this.searching) void this.search();
  }

  private async search(): Promise<void> {
    this.searching = true;
    try {
      while (this.wish) {
        const { names, direction, moves } = this.wish;
        this.wish = null;
        const digest = this.digest.peek();
        const tick = digest && (await nextEvent(this.film, digest, names, this.player.tick, direction));
        if (tick === null || moves !== this.moves) continue;
        this.player.playing = false;
        this.player.seek(tick);
        this.map?.touch();
      }
    } finally {
      this.searching = false;
    }
  }

  // What the map asks for

  /** What was said shortly before the tick that is shown. */
  recentSpeech(): Speech[] {
    const ticks = Math.ceil(Math.max(3, 6000 / this.world.info.tick_ms));
    const { tick } = this.player;
    const found: Speech[] = [];
    for (let at = tick - ticks; at <= tick; at += 1) found.push(...this.speechAt(at));
    return found;
  }

  speechAt(tick: number): Speech[] {
    const known = this.spoken.get(tick);
    if (known) return known;
    const frame = this.film.tickFrame(tick);
    if (!frame) return [];
    const speech = saidIn(frame).map(([row, , text]) => ({ row, tick, text }));
    this.spoken.set(tick, speech);
    if (this.spoken.size > 4000) this.spoken.clear();
    return speech;
  }

  /** Who asks a model at the tick that is shown. */
  thinking(): ReadonlySet<number> {
    return this.film.states.asking(this.player.tick);
  }
}

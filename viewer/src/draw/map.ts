/** The map on screen: ground, objects, characters, what somebody sees, and the hands of whoever looks at it. */

import "pixi.js/unsafe-eval";
import { Container, Graphics, WebGLRenderer } from "pixi.js";
import { Status } from "../codes";
import type { Film } from "../film/film";
import { lightAt } from "../film/daylight";
import type { Player } from "../film/player";
import { seenFrom } from "../film/sight";
import { sees, type Moment } from "../play/frames";
import { Crowd } from "./crowd";
import { Furniture } from "./furniture";
import { Ground } from "./ground";
import { Minimap } from "./minimap";
import { Overlay, type Label, type Speech } from "./overlay";
import { cameraUniforms } from "./sheets";
import { TileArt } from "./tile_art";
import { Camera2d } from "./view";

const NAMES_UP_TO = 40; // characters on screen
const NAMES_FROM = 11; // pixels of a tile
const HOVER_UP_TO = 20_000; // characters; among more of them a pointer finds nobody by itself
const IDLE_MS = 120; // how often a picture is drawn in which nothing but badges moves

export interface MapHost {
  film: Film;
  player: Player;
  selected(): number;
  following(): boolean; // the selected character
  sight(): boolean;
  daylight(): boolean;
  zoneNames(): boolean; // whether zones have their names on the map
  speech(): Speech[];
  thinking(): ReadonlySet<number>;
  select(row: number): void;
  follow(on: boolean): void;
  hover(row: number): void;
  perceived(): Moment | null; // by the one who is played here
  tap(x: number, y: number, row: number): void; // by who plays
}

export class MapView {
  readonly camera: Camera2d;
  readonly scriptMs: number[] = []; // of the last frames, for whoever measures
  readonly tickMs: number[] = []; // of those among them that brought a new tick
  frames = 0;
  drawnTick: number | null = null; // the tick that all of the map shows, while nothing moves and nothing is on its way
  private readonly root = new Container();
  private readonly world = new Container();
  private readonly sight = new Graphics();
  private readonly ring = new Graphics();
  private readonly veil = new Graphics(); // over what one who plays does not see
  private readonly front = new Container();
  private veilKey = "";
  private readonly uniforms = cameraUniforms();
  private readonly ground: Ground;
  private readonly crowd: Crowd;
  private readonly furniture: Furniture;
  private readonly overlay: Overlay;
  private readonly minimap: Minimap;
  private shownTick = Number.NaN;
  private shownFrames = -1; // how many frames the film had
  private shownVersion = "";
  private shownThinking: ReadonlySet<number> | null = null;
  private sightKey = "";
  private hovered = -1;
  private readonly calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  private readonly watching = new ResizeObserver(() => this.resize());
  private dirty = true;
  private lastFrame = 0;
  private lastDrawn = 0;

  private constructor(
    private readonly renderer: WebGLRenderer,
    private readonly canvas: HTMLCanvasElement,
    overlay: HTMLElement,
    minimap: HTMLCanvasElement,
    private readonly host: MapHost,
    art: TileArt | null,
  ) {
    const { scene, world } = host.film;
    this.camera = new Camera2d(world.info.width, world.info.height);
    this.ground = new Ground(world, this.uniforms, art);
    this.crowd = new Crowd(scene, this.uniforms);
    this.furniture = new Furniture(scene, this.uniforms);
    this.overlay = new Overlay(overlay, world.actorIds, world.actorIds.map((_, row) => world.nameOf(row)), world.info.setting.zones);
    this.minimap = new Minimap(minimap, scene, this.ground.picture, (x, y) => {
      host.follow(false);
      this.camera.go(x, y);
    });
    this.world.addChild(this.sight, this.ring);
    this.root.addChild(
      this.ground.view,
      this.world,
      this.crowd.shadows,
      this.furniture.view,
      this.crowd.people,
      this.crowd.badges,
      this.front,
    );
    this.front.addChild(this.veil);
    this.listen();
    this.watching.observe(canvas.parentElement as HTMLElement);
    this.resize();
    this.camera.fit();
  }

  static async open(canvas: HTMLCanvasElement, overlay: HTMLElement, minimap: HTMLCanvasElement, host: MapHost): Promise<MapView> {
    const renderer = new WebGLRenderer();
    await renderer.init({
      canvas,
      antialias: false, // edges are soft on the sheets already
      autoDensity: true,
      resolution: Math.min(2, window.devicePixelRatio || 1),
      backgroundAlpha: 0, // around the map the page is seen
      depth: true,
      preserveDrawingBuffer: false,
    } as never);
    const { tiles, width, height } = host.film.world.info;
    return new MapView(renderer, canvas, overlay, minimap, host, await TileArt.load(tiles, width, height));
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement as HTMLElement;
    const first = this.camera.width === 1;
    this.camera.width = Math.max(1, clientWidth);
    this.camera.height = Math.max(1, clientHeight);
    this.renderer.resize(this.camera.width, this.camera.height);
    if (first) this.camera.fit();
    this.dirty = true;
  }

  touch(): void {
    this.dirty = true;
  }

  /** Let go of what the GPU holds. Nothing is drawn after it. */
  close(): void {
    this.watching.disconnect();
    this.renderer.destroy();
  }

  /** Where somebody is between two ticks, in tiles; null for who is away. */
  placeOf(row: number): [number, number] | null {
    const { scene } = this.host.film;
    if (scene.isAway(row)) return null;
    const share = this.host.player.progress;
    const fromX = scene.before[2 * row];
    const fromY = scene.before[2 * row + 1];
    return [fromX + (scene.xOf(row) - fromX) * share, fromY + (scene.yOf(row) - fromY) * share];
  }

  /** One frame. Time passes by the clock that is handed in. */
  frame(now: number): void {
    const started = performance.now();
    const elapsed = Math.min(2000, now - this.lastFrame || 0);
    this.lastFrame = now;
    const moved = this.host.player.advance(elapsed);
    const changed = this.showTick();
    const row = this.host.selected();
    const followed = row >= 0 && this.host.following() ? this.placeOf(row) : null;
    if (followed) this.camera.go(followed[0] + 0.5, followed[1] + 0.5);
    const panned = this.camera.ease(elapsed);
    const still = !(moved || changed || panned || this.dirty);
    const due = now - this.lastDrawn > (this.calm.matches ? 2000 : IDLE_MS);
    if (!still || due) this.draw(now, row, changed, started);
    else if (this.minimap.behind) this.minimap.update(this.camera, now, row);
    const complete = still && !this.dirty && !this.minimap.behind;
    const { film, player } = this.host;
    this.drawnTick = complete && !film.loading && player.progress === 1 && player.tick === this.shownTick ? player.tick : null;
  }

  private draw(now: number, row: number, changed: boolean, started: number): void {
    this.lastDrawn = now;
    this.dirty = false;
    this.setUniforms(now);
    this.drawSight();
    this.drawVeil();
    this.drawRing();
    const [left, top] = this.camera.toTile(0, 0);
    const [right, bottom] = this.camera.toTile(this.camera.width, this.camera.height);
    if (this.ground.update(left, top, right, bottom, this.camera.scale)) this.dirty = true;
    this.renderer.render(this.root);
    const { camera } = this;
    this.overlay.update(this.host.speech(), this.labels(), camera, (at) => this.placeOf(at), (tick) => this.age(tick), this.host.zoneNames());
    this.minimap.update(this.camera, now, row);
    this.frames += 1;
    const took = performance.now() - started;
    this.scriptMs.push(took);
    if (changed) this.tickMs.push(took);
    for (const kept of [this.scriptMs, this.tickMs]) if (kept.length > 2000) kept.splice(0, 1000);
  }

  private age(tick: number): number {
    const ticks = Math.max(3, 6000 / this.host.film.world.info.tick_ms);
    return (this.host.player.position - tick + 1) / ticks;
  }

  /** Bring the meshes to the tick that is to be shown; tells whether that was needed. */
  private showTick(): boolean {
    const { film, player } = this.host;
    const { tick } = player;
    if (!film.reaches(tick)) return false;
    film.show(tick);
    if (film.version !== this.shownFrames) this.dirty = true; // what was said before this tick may have come
    this.shownFrames = film.version;
    const thinking = this.host.thinking();
    const version = `${film.scene.thingsVersion} ${this.host.selected()}`;
    if (tick === this.shownTick && version === this.shownVersion && thinking === this.shownThinking) return false;
    this.shownThinking = thinking;
    this.shownTick = tick;
    this.shownVersion = version;
    this.crowd.update(thinking, this.host.selected());
    this.furniture.update();
    return true;
  }

  private setUniforms(now: number): void {
    const { camera, uniforms } = this;
    const { film, player } = this.host;
    const light = this.host.daylight() ? lightAt(film.world.info.setting.calendar, film.scene.tick) : ([1, 1, 1] as [number, number, number]);
    const values = uniforms.uniforms;
    values.uCentre[0] = camera.x;
    values.uCentre[1] = camera.y;
    values.uScreen[0] = camera.width;
    values.uScreen[1] = camera.height;
    values.uScale = camera.scale;
    this.crowd.shadows.visible = camera.scale >= 7;
    this.crowd.badges.visible = camera.scale >= 12;
    values.uProgress = player.progress;
    values.uRows = film.world.info.height;
    values.uTime = this.calm.matches ? 0 : (now / 1000) % 1000;
    values.uLight.set(light);
    uniforms.update();
    this.world.scale.set(camera.scale);
    this.world.position.set(camera.width / 2 - camera.x * camera.scale, camera.height / 2 - camera.y * camera.scale);
    this.front.scale.copyFrom(this.world.scale);
    this.front.position.copyFrom(this.world.position);
  }

  /** The field of view of the selected character. */
  private drawSight(): void {
    const { film } = this.host;
    const row = this.host.selected();
    const on = row >= 0 && !this.host.perceived() && this.host.sight() && this.camera.scale > 3 && !film.scene.isAway(row);
    const key = on ? `${row} ${film.scene.tick} ${film.scene.thingsVersion}` : "";
    if (key === this.sightKey) return;
    this.sightKey = key;
    this.sight.clear();
    if (!on) return;
    const tiles = seenFrom(film.scene, film.scene.xOf(row), film.scene.yOf(row));
    const seen = new Set(tiles.map(([tileX, tileY]) => tileY * 65536 + tileX));
    for (const [tileX, tileY] of tiles) this.sight.rect(tileX, tileY, 1, 1);
    this.sight.fill({ color: 0xfff3b0, alpha: 0.2 });
    for (const [tileX, tileY] of tiles) {
      const has = (dx: number, dy: number) => seen.has((tileY + dy) * 65536 + tileX + dx);
      if (!has(0, -1)) this.sight.moveTo(tileX, tileY).lineTo(tileX + 1, tileY);
      if (!has(0, 1)) this.sight.moveTo(tileX, tileY + 1).lineTo(tileX + 1, tileY + 1);
      if (!has(-1, 0)) this.sight.moveTo(tileX, tileY).lineTo(tileX, tileY + 1);
      if (!has(1, 0)) this.sight.moveTo(tileX + 1, tileY).lineTo(tileX + 1, tileY + 1);
    }
    this.sight.stroke({ color: 0xffe27a, alpha: 0.85, width: 0.07 });
  }

  /** Dim what the one who is played does not see. */
  private drawVeil(): void {
    const moment = this.host.perceived();
    const key = moment ? `${moment.tick}` : "";
    if (key === this.veilKey) return;
    this.veilKey = key;
    this.veil.clear();
    if (!moment) return;
    const { width, height } = this.host.film.world.info;
    const { me, radius } = moment;
    const [left, top] = [Math.max(0, me.x - radius), Math.max(0, me.y - radius)];
    const [right, bottom] = [Math.min(width, me.x + radius + 1), Math.min(height, me.y + radius + 1)];
    this.veil.rect(0, 0, width, top).rect(0, bottom, width, height - bottom);
    this.veil.rect(0, top, left, bottom - top).rect(right, top, width - right, bottom - top);
    for (let y = top; y < bottom; y += 1) {
      let from = left;
      for (let x = left; x <= right; x += 1) {
        if (x < right && !sees(moment, x, y)) continue;
        if (x > from) this.veil.rect(from, y, x - from, 1);
        from = x + 1;
      }
    }
    this.veil.fill({ color: 0x0b0f18, alpha: 0.62 });
  }

  private drawRing(): void {
    this.ring.clear();
    for (const [row, colour] of [
      [this.hovered, 0xffffff],
      [this.host.selected(), 0xffd84d],
    ]) {
      const place = row < 0 ? null : this.placeOf(row);
      if (!place) continue;
      const [x, y] = place;
      const width = Math.max(0.06, 2 / this.camera.scale);
      this.ring.ellipse(x + 0.5, y + 0.86, 0.46, 0.24).stroke({ color: colour, alpha: 0.95, width });
    }
  }

  private labels(): Label[] {
    const selected = this.host.selected();
    const { scene } = this.host.film;
    const found = new Map<number, Label>();
    const label = (row: number, strong: boolean) => {
      found.delete(row); // so that strong ones are last, and lie above the others
      found.set(row, { row, strong, played: (scene.statusOf(row) & Status.PLAYED) > 0 });
    };
    if (this.camera.scale >= NAMES_FROM) {
      const [left, top] = this.camera.toTile(0, 0);
      const [right, bottom] = this.camera.toTile(this.camera.width, this.camera.height);
      for (let row = 0; row < scene.world.actors && found.size <= NAMES_UP_TO; row += 1) {
        const [x, y] = [scene.xOf(row), scene.yOf(row)];
        const inside = x >= left - 1 && x <= right && y >= top - 1 && y <= bottom;
        if (inside && !scene.isAway(row)) label(row, false);
      }
      if (found.size > NAMES_UP_TO) found.clear();
    }
    if (this.hovered >= 0) label(this.hovered, true);
    if (selected >= 0) label(selected, true);
    return [...found.values()];
  }

  /** Who is under a point of the screen, or -1. */
  pick(pixelX: number, pixelY: number): number {
    const [x, y] = this.camera.toTile(pixelX, pixelY);
    const reach = Math.max(0.5, 7 / this.camera.scale);
    let found = -1;
    let front = -Infinity;
    for (let row = 0; row < this.host.film.world.actors; row += 1) {
      const place = this.placeOf(row);
      if (!place) continue;
      const [atX, atY] = place;
      const dx = x - atX - 0.5;
      const dy = y - atY;
      if (Math.abs(dx) <= reach && dy >= -0.5 - (reach - 0.5) && dy <= 1.05 + (reach - 0.5) && atY > front) {
        found = row;
        front = atY;
      }
    }
    return found;
  }

  private listen(): void {
    const { canvas, camera, host } = this;
    const held = new Map<number, [number, number]>();
    let travelled = 0;
    let spread = 0;
    const point = (event: PointerEvent | WheelEvent | MouseEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const distance = () => {
      const [one, other] = [...held.values()];
      return Math.hypot(one[0] - other[0], one[1] - other[1]);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, point(event));
      travelled = held.size > 1 ? Infinity : 0;
      if (held.size === 2) spread = distance();
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = point(event);
      const before = held.get(event.pointerId);
      if (!before) {
        this.setHovered(host.film.world.actors <= HOVER_UP_TO ? this.pick(...now) : -1);
        return;
      }
      held.set(event.pointerId, now);
      if (held.size === 2) {
        const apart = distance();
        camera.zoom(apart / Math.max(1, spread), ...now);
        spread = apart;
        return;
      }
      travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (travelled > 4) {
        host.follow(false);
        camera.pan(now[0] - before[0], now[1] - before[1]);
        this.dirty = true;
      }
    });
    const release = (event: PointerEvent) => {
      if (!held.delete(event.pointerId)) return;
      if (event.type === "pointerup" && travelled <= 4) {
        const at = point(event);
        const [x, y] = camera.toTile(...at);
        if (host.perceived()) host.tap(Math.floor(x), Math.floor(y), this.pick(...at));
        else host.select(this.pick(...at));
      }
      this.dirty = true;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.setHovered(-1));
    canvas.addEventListener("dblclick", (event) => {
      const row = this.pick(...point(event));
      if (row < 0 || host.perceived()) return;
      host.select(row);
      host.follow(true);
      camera.go(camera.x, camera.y, Math.max(camera.scale, 40));
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        camera.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.0022), ...point(event));
      },
      { passive: false },
    );
  }

  private setHovered(row: number): void {
    if (row === this.hovered) return;
    this.hovered = row;
    this.canvas.style.cursor = row >= 0 ? "pointer" : "grab";
    this.host.hover(row);
    this.dirty = true;
  }
}

/** All objects, and what lies on the ground, in one call. */

import { Container, Mesh, type Buffer, type Geometry } from "pixi.js";
import { AWAY, type Scene } from "../frames/scene";
import { CELL_H, CELL_W, FOOT_X, TILE } from "./people";
import { CAMERA_GLSL, Shader, program, sheetSource, squares, stateOf, type Camera } from "./sheets";
import { cellPen, drawItem, drawSlab, drawThing, joins, liesFlat, type Look } from "./things";

const COLUMNS = 16;
const ROWS = 12;
const BOTTOM = 108; // of a tile in a cell, see things.ts
const number = (value: number) => value.toFixed(6);

const VERTEX = `${CAMERA_GLSL}
in vec2 aCorner;
in vec4 aPlace; // x, y, cell, whether it lies flat
out vec2 vCell;
void main() {
  float column = mod(aPlace.z, ${number(COLUMNS)});
  float row = floor(aPlace.z / ${number(COLUMNS)});
  vCell = (vec2(column, row) + aCorner) / vec2(${number(COLUMNS)}, ${number(ROWS)});
  vec2 at = aPlace.xy + vec2(0.5 - ${number(FOOT_X / TILE)}, 1.0 - ${number(BOTTOM / TILE)});
  float depth = depthOf(aPlace.y + (aPlace.w > 0.5 ? 0.1 : 0.8), aPlace.x * 0.00002);
  gl_Position = onScreen(at + aCorner * vec2(${number(CELL_W / TILE)}, ${number(CELL_H / TILE)}), depth);
}`;

const FRAGMENT = `
in vec2 vCell;
uniform sampler2D uSheet;
uniform vec3 uLight;
out vec4 finalColor;
void main() {
  vec4 found = texture(uSheet, vCell);
  if (found.a < 0.06) discard;
  finalColor = vec4(found.rgb * uLight, found.a);
}`;

export class Furniture {
  readonly view = new Container();
  private readonly cells = new Map<string, number>(); // what a thing looks like -> its cell
  private readonly known = new Map<number, number>(); // the same by numbers, for the loop over all things
  private built = 0; // of the scene, when joints were found
  private joining: Uint8Array; // object row -> 1 if it joins, 2 if the same is south of it, 4 if north
  private readonly sheet: HTMLCanvasElement;
  private readonly pen: CanvasRenderingContext2D;
  private readonly source;
  private geometry: Geometry;
  private buffer: Buffer;
  private places = new Int16Array(4);
  private seen = -1;
  private pieces = 0; // of all things: one of each, and the tiles of those that have several
  private readonly shader: Shader;
  private mesh: Mesh<never, never> | null = null;

  constructor(
    private readonly scene: Scene,
    camera: Camera,
  ) {
    this.sheet = document.createElement("canvas");
    this.sheet.width = CELL_W * COLUMNS;
    this.sheet.height = CELL_H * ROWS;
    this.pen = this.sheet.getContext("2d") as CanvasRenderingContext2D;
    this.source = sheetSource(this.sheet);
    this.joining = this.joints();
    const { world } = scene;
    for (let thing = 0; thing < world.things; thing += 1) {
      const tiles = world.tilesOf(thing).length;
      this.pieces += tiles > 1 ? tiles + 1 : 1;
    }
    this.shader = new Shader({ glProgram: program("things", VERTEX, FRAGMENT), resources: { camera, uSheet: this.source } });
    ({ geometry: this.geometry, buffers: [this.buffer] } = this.room(1));
  }

  private room(count: number) {
    this.places = new Int16Array(4 * Math.max(1, count));
    return squares([{ name: "aPlace", data: this.places, format: "sint16x4" }], count);
  }

  /** Bring it up to date with the scene, if any object changed. */
  update(): void {
    const { scene } = this;
    if (this.seen === scene.thingsVersion) return;
    this.seen = scene.thingsVersion;
    const { world } = scene;
    if (this.built !== scene.builtVersion) {
      this.built = scene.builtVersion;
      this.joining = this.joints();
    }
    let count = this.pieces + scene.ground.size;
    if (count > this.places.length / 4 || !this.mesh) {
      this.mesh?.destroy();
      ({ geometry: this.geometry, buffers: [this.buffer] } = this.room(Math.ceil(count * 1.25) + 16));
      this.mesh = new Mesh({ geometry: this.geometry as never, shader: this.shader as never, state: stateOf(true) });
      this.view.addChild(this.mesh as never);
    }
    const { places } = this;
    let at = 0;
    for (let thing = 0; thing < world.things; thing += 1) {
      if (scene.thingX[thing] === AWAY) continue;
      const state = scene.thingState[thing];
      const stocked = scene.thingStock[thing] > 0;
      const tiles = world.tilesOf(thing);
      const [width, height] = world.kindOf(thing).size ?? [1, 1];
      for (const [dx, dy] of tiles.length > 1 ? tiles : []) {
        const edges = (dx === 0 ? 1 : 0) | (dx === width - 1 ? 2 : 0) | (dy === 0 ? 4 : 0) | (dy === height - 1 ? 8 : 0);
        places[at] = scene.thingX[thing] + dx;
        places[at + 1] = scene.thingY[thing] + dy;
        places[at + 2] = this.slabCell(thing, state, stocked, edges);
        places[at + 3] = 1; // it lies flat, and its picture stands on it
        at += 4;
      }
      if (tiles.length > 1 && liesFlat(world.kindOf(thing))) continue;
      places[at] = scene.thingX[thing] + ((width - 1) >> 1);
      places[at + 1] = scene.thingY[thing] + height - 1;
      places[at + 2] = this.cellOf(thing, state, stocked);
      places[at + 3] = world.kindOf(thing).walkable[state] || liesFlat(world.kindOf(thing)) ? 1 : 0;
      at += 4;
    }
    for (const heap of scene.ground.keys()) {
      const [x, y, item] = heap.split(",").map(Number);
      places[at] = x;
      places[at + 1] = y;
      places[at + 2] = this.itemCell(world.info.items[item] ?? "");
      places[at + 3] = 1;
      at += 4;
    }
    count = at / 4;
    this.geometry.instanceCount = count;
    (this.mesh as unknown as Container).visible = count > 0;
    this.buffer.update();
  }

  /** Which things join with others beside them. */
  private joints(): Uint8Array {
    const { world, thingX, thingY } = this.scene;
    const { width } = world.info;
    const tiles = new Set<number>();
    const flags = new Uint8Array(world.things);
    for (let thing = 0; thing < world.things; thing += 1) {
      if (thingX[thing] === AWAY || !joins(world.kindOf(thing))) continue;
      flags[thing] = 1;
      tiles.add(thingY[thing] * width + thingX[thing]);
    }
    for (let thing = 0; thing < world.things; thing += 1) {
      if (!flags[thing]) continue;
      const tile = thingY[thing] * width + thingX[thing];
      flags[thing] |= (tiles.has(tile + width) ? 2 : 0) | (tiles.has(tile - width) ? 4 : 0);
    }
    return flags;
  }

  private cellOf(thing: number, state: number, stocked: boolean): number {
    const { world } = this.scene;
    const flags = this.joining[thing];
    const number = (world.thingKind[thing] << 12) | (state << 4) | (flags & 6) | (stocked ? 1 : 0);
    const known = this.known.get(number);
    if (known !== undefined) return known;
    const look: Look = { kind: world.kindOf(thing), state, stocked, south: (flags & 2) > 0, north: (flags & 4) > 0 };
    const cell = this.draw(`thing ${number}`, () => drawThing(this.pen, look));
    this.known.set(number, cell);
    return cell;
  }

  /** A piece of what has several tiles; `edges` are west 1, east 2, north 4 and south 8. */
  private slabCell(thing: number, state: number, stocked: boolean, edges: number): number {
    const kind = this.scene.world.kindOf(thing);
    const flat = liesFlat(kind);
    const key = flat ? `slab ${state} ${stocked} ${kind.name}` : `slab ${edges} ${kind.name}`;
    const look: Look = { kind, state, stocked, south: false, north: false };
    return this.cells.get(key) ?? this.draw(key, () => drawSlab(this.pen, look, edges));
  }

  private itemCell(name: string): number {
    const key = `item ${name}`;
    return this.cells.get(key) ?? this.draw(key, () => drawItem(this.pen, name));
  }

  /** Draw something new on the sheet; the last cell is for all that find no more room. */
  private draw(key: string, paint: () => void): number {
    const cell = Math.min(this.cells.size, COLUMNS * ROWS - 1);
    this.cells.set(key, cell);
    cellPen(this.pen, cell, COLUMNS, paint);
    this.source.update();
    return cell;
  }
}

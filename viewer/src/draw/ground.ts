/** The ground, drawn piece by piece where somebody looks, and once as a whole for when it is far away. */

import { Container, Mesh, type TextureSource } from "pixi.js";
import type { World } from "../frames/world";
import { chanceAt, css, fromHsl, hashOf, type Rgb } from "./colours";
import { CAMERA_GLSL, Shader, program, sheetSource, squares, stateOf, type Camera } from "./sheets";
import type { TileArt } from "./tile_art";

type Pen = CanvasRenderingContext2D;

const PIECE_TILES = 16;
const PIXELS = 48; // of a tile, near
const MOST_PIECES = 60;
const MOST_TILES_FAR = 300_000; // of a map from Tiled that is drawn with its tiles from far away, too
const FAR = 11; // pixels of a tile on screen, below which the whole is enough

type Style = "grass" | "path" | "planks" | "water" | "rock" | "sand" | "snow" | "plain";

const STYLES: [words: RegExp, style: Style, colour: Rgb][] = [
  [/grass|meadow|lawn|field/, "grass", [124, 176, 98]],
  [/forest|moss/, "grass", [98, 148, 84]],
  [/path|road|dirt|earth|mud|soil|trail/, "path", [205, 178, 132]],
  [/plank|wood|floor|board|carpet/, "planks", [186, 145, 102]],
  [/water|river|lake|sea|pond/, "water", [86, 150, 198]],
  [/rock|stone|wall|cliff|mountain|cave/, "rock", [126, 128, 136]],
  [/sand|beach|desert/, "sand", [232, 214, 162]],
  [/snow|ice/, "snow", [232, 240, 246]],
];
/** Floors of these styles grow over the edges of those before them. */
const GROWS: Style[] = ["water", "sand", "path", "snow", "grass"];

interface FloorLook {
  style: Style;
  colour: Rgb;
}

export function floorLook(name: string): FloorLook {
  const found = STYLES.find(([words]) => words.test(name.toLowerCase()));
  if (found) return { style: found[1], colour: found[2] };
  return { style: "plain", colour: fromHsl((hashOf(name) % 360) / 360, 0.25, 0.6) };
}

const shaded = ([red, green, blue]: Rgb, by: number): Rgb => [
  Math.min(255, Math.max(0, red + by)),
  Math.min(255, Math.max(0, green + by)),
  Math.min(255, Math.max(0, blue + by)),
];

function tile(pen: Pen, look: FloorLook, x: number, y: number, left: number, top: number, size: number): void {
  const chance = (salt: number) => chanceAt(x, y, salt);
  const { style, colour } = look;
  const tone = style === "planks" || style === "water" ? 0 : (chance(0) - 0.5) * (style === "rock" ? 14 : 3);
  pen.fillStyle = css(shaded(colour, tone));
  pen.fillRect(left, top, size, size);
  const dot = (salt: number, width: number, height: number, fill: string) => {
    pen.fillStyle = fill;
    pen.beginPath();
    pen.ellipse(left + chance(salt) * size, top + chance(salt + 1) * size, width, height, 0, 0, Math.PI * 2);
    pen.fill();
  };
  if (style === "grass") {
    pen.lineWidth = 1.6;
    pen.lineCap = "round";
    for (let blade = 0; blade < 5; blade += 1) {
      const bladeX = left + chance(blade * 3 + 2) * size;
      const bladeY = top + 5 + chance(blade * 3 + 3) * (size - 6);
      pen.strokeStyle = css(shaded(colour, blade % 2 ? -20 : 16), 0.75);
      pen.beginPath();
      pen.moveTo(bladeX, bladeY);
      pen.lineTo(bladeX + (chance(blade + 40) - 0.5) * 4, bladeY - 5);
      pen.stroke();
    }
    if (chance(60) < 0.045) {
      const fill = ["#fff6d8", "#f7b7c5", "#f6d35e", "#c9b6f2"][Math.floor(chance(61) * 4)];
      for (let flower = 0; flower < 3; flower += 1) dot(70 + flower * 2, 2.1, 2.1, fill);
    }
  } else if (style === "path" || style === "sand") {
    for (let at = 0; at < 4; at += 1) dot(20 + at * 2, 1.6 + chance(at) * 1.8, 1.3, css(shaded(colour, at % 2 ? -20 : 12), 0.8));
  } else if (style === "planks") {
    const rows = 3;
    for (let row = 0; row < rows; row += 1) {
      const from = top + (row * size) / rows;
      pen.fillStyle = css(shaded(colour, (chanceAt(Math.floor(x / 2), y * rows + row, 5) - 0.5) * 20));
      pen.fillRect(left, from, size, size / rows);
      pen.fillStyle = css(shaded(colour, -38), 0.65);
      pen.fillRect(left, from, size, 1.4);
      if ((x + row * 3 + y) % 3 === 0) pen.fillRect(left + size * 0.3, from, 1.4, size / rows);
    }
  } else if (style === "water") {
    pen.strokeStyle = css(shaded(colour, 34), 0.55);
    pen.lineWidth = 2;
    pen.lineCap = "round";
    for (let wave = 0; wave < 2; wave += 1) {
      const waveX = left + chance(wave * 2 + 1) * size * 0.6;
      const waveY = top + (0.2 + chance(wave * 2 + 2) * 0.6) * size;
      pen.beginPath();
      pen.arc(waveX + 5, waveY, 5, 1.15 * Math.PI, 1.85 * Math.PI);
      pen.arc(waveX + 14, waveY, 5, 1.15 * Math.PI, 1.85 * Math.PI);
      pen.stroke();
    }
  } else if (style === "rock") {
    pen.fillStyle = css(shaded(colour, 18), 0.7);
    pen.beginPath();
    pen.roundRect(left + 3, top + 3, size - 8, size - 12, 8);
    pen.fill();
    pen.fillStyle = css(shaded(colour, -26), 0.8);
    pen.fillRect(left, top + size - 7, size, 7);
    for (let at = 0; at < 2; at += 1) dot(20 + at * 2, 4, 2.4, css(shaded(colour, -16), 0.8));
  } else if (style === "plain") {
    pen.strokeStyle = css(shaded(colour, -14), 0.5);
    pen.strokeRect(left + 0.5, top + 0.5, size - 1, size - 1);
  }
}

/** Let a neighbour grow a little over this tile, in small tufts. */
function fringe(pen: Pen, colour: Rgb, x: number, y: number, left: number, top: number, size: number, side: number): void {
  pen.fillStyle = css(colour);
  pen.beginPath();
  for (let tuft = 0; tuft < 5; tuft += 1) {
    const along = ((tuft + 0.5) / 5) * size;
    const reach = 3 + chanceAt(x * 7 + tuft, y * 5 + side, 9) * 4.5;
    const [atX, atY] = [
      [left + along, top],
      [left + size, top + along],
      [left + along, top + size],
      [left, top + along],
    ][side];
    pen.moveTo(atX, atY);
    pen.ellipse(atX, atY, side % 2 ? reach : size / 8, side % 2 ? size / 8 : reach, 0, 0, Math.PI * 2);
  }
  pen.fill();
}

const VERTEX = `${CAMERA_GLSL}
in vec2 aCorner;
in vec4 aPlace; // x, y, width, height in tiles
out vec2 vAt;
void main() {
  vAt = aCorner;
  gl_Position = onScreen(aPlace.xy + aCorner * aPlace.zw, 0.0);
}`;

const FRAGMENT = `
in vec2 vAt;
uniform sampler2D uSheet;
uniform vec3 uLight;
out vec4 finalColor;
void main() { finalColor = vec4(texture(uSheet, vAt).rgb * uLight, 1.0); }`;

/** A picture that lies on the map; drawn by a shader of its own, because one that serves all is slow without a GPU. */
interface Piece {
  view: Container;
  source: TextureSource;
  used: number;
}

export class Ground {
  readonly view = new Container();
  readonly picture: HTMLCanvasElement; // the whole map, small; the minimap shows it too
  private readonly looks: FloorLook[];
  private readonly pieces = new Map<number, Piece>();
  private readonly whole: Piece;
  private readonly program = program("ground", VERTEX, FRAGMENT);
  private clock = 0;

  constructor(
    private readonly world: World,
    private readonly camera: Camera,
    private readonly art: TileArt | null,
  ) {
    this.looks = world.info.floors.map((floor) => floorLook(floor.name));
    this.picture = this.drawWhole();
    this.whole = this.lay(this.picture, 0, 0, world.info.width, world.info.height);
  }

  private lay(canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number): Piece {
    const source = sheetSource(canvas);
    const { geometry } = squares([{ name: "aPlace", data: new Int16Array([x, y, width, height]), format: "sint16x4" }], 1);
    const shader = new Shader({ glProgram: this.program, resources: { camera: this.camera, uSheet: source } });
    const view = new Mesh({ geometry: geometry as never, shader: shader as never, state: stateOf(false) }) as unknown as Container;
    this.view.addChild(view);
    return { view, source, used: this.clock };
  }

  /** One pixel is set for each tile, and all are drawn larger at once. */
  private drawWhole(): HTMLCanvasElement {
    const { width, height } = this.world.info;
    const tiles = document.createElement("canvas");
    [tiles.width, tiles.height] = [width, height];
    const small = tiles.getContext("2d") as Pen;
    const image = small.createImageData(width, height);
    const { data } = image;
    for (let y = 0, at = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1, at += 4) {
        const { colour } = this.looks[this.world.floor[y * width + x]];
        const tone = (chanceAt(x, y) - 0.5) * 8;
        data[at] = colour[0] + tone;
        data[at + 1] = colour[1] + tone;
        data[at + 2] = colour[2] + tone;
        data[at + 3] = 255;
      }
    }
    small.putImageData(image, 0, 0);
    const pixels = Math.max(1, Math.min(12, Math.floor(2048 / Math.max(width, height))));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * pixels, height * pixels];
    const pen = canvas.getContext("2d") as Pen;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(tiles, 0, 0, canvas.width, canvas.height);
    if (this.art && width * height <= MOST_TILES_FAR) {
      for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) this.art.draw(pen, x, y, x * pixels, y * pixels, pixels);
    }
    return canvas;
  }

  /** Draw what is on screen and not yet drawn, a few pieces at a time. Tells whether more is missing. */
  update(left: number, top: number, right: number, bottom: number, scale: number): boolean {
    const { width, height } = this.world.info;
    const near = scale > FAR;
    for (const { view } of this.pieces.values()) view.visible = false;
    this.whole.view.visible = true;
    if (!near) return false;
    this.clock += 1;
    const columns = Math.ceil(width / PIECE_TILES);
    const range = (from: number, to: number, most: number) =>
      [Math.max(0, Math.floor(from / PIECE_TILES)), Math.min(most - 1, Math.floor(to / PIECE_TILES))] as const;
    const [firstX, lastX] = range(left, right, columns);
    const [firstY, lastY] = range(top, bottom, Math.ceil(height / PIECE_TILES));
    let drawn = 0;
    let missing = false;
    for (let row = firstY; row <= lastY; row += 1) {
      for (let column = firstX; column <= lastX; column += 1) {
        const place = row * columns + column;
        const known = this.pieces.get(place);
        if (known) {
          known.used = this.clock;
          known.view.visible = true;
        } else if (drawn < 2) {
          drawn += 1;
          this.pieces.set(place, this.piece(column, row));
        } else missing = true;
      }
    }
    this.letGo();
    this.whole.view.visible = missing;
    return missing;
  }

  private letGo(): void {
    if (this.pieces.size <= MOST_PIECES) return;
    for (const [place, { view, source, used }] of this.pieces) {
      if (used === this.clock) continue;
      view.destroy();
      source.destroy();
      this.pieces.delete(place);
    }
  }

  private piece(column: number, row: number): Piece {
    const { width, height } = this.world.info;
    const fromX = column * PIECE_TILES;
    const fromY = row * PIECE_TILES;
    const tilesX = Math.min(PIECE_TILES, width - fromX);
    const tilesY = Math.min(PIECE_TILES, height - fromY);
    const canvas = document.createElement("canvas");
    canvas.width = tilesX * PIXELS;
    canvas.height = tilesY * PIXELS;
    const pen = canvas.getContext("2d") as Pen;
    for (let dy = 0; dy < tilesY; dy += 1) {
      for (let dx = 0; dx < tilesX; dx += 1) this.drawTile(pen, fromX + dx, fromY + dy, dx * PIXELS, dy * PIXELS);
    }
    return this.lay(canvas, fromX, fromY, tilesX, tilesY);
  }

  private drawTile(pen: Pen, x: number, y: number, left: number, top: number): void {
    const { width, height } = this.world.info;
    const look = this.looks[this.world.floor[y * width + x]];
    pen.save();
    pen.beginPath();
    pen.rect(left, top, PIXELS, PIXELS);
    pen.clip();
    tile(pen, look, x, y, left, top, PIXELS);
    if (this.art?.covers(x, y)) {
      this.art.draw(pen, x, y, left, top, PIXELS);
      pen.restore();
      return;
    }
    const own = GROWS.indexOf(look.style);
    [
      [x, y - 1],
      [x + 1, y],
      [x, y + 1],
      [x - 1, y],
    ].forEach(([besideX, besideY], side) => {
      if (besideX < 0 || besideY < 0 || besideX >= width || besideY >= height) return;
      const beside = this.looks[this.world.floor[besideY * width + besideX]];
      if (own >= 0 && GROWS.indexOf(beside.style) > own) fringe(pen, beside.colour, x, y, left, top, PIXELS, side);
    });
    pen.restore();
  }
}

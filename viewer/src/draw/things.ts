/** Objects and heaps of items, drawn by code from what their kinds are called. */

import type { ThingKind } from "../frames/world";
import { css, fromHsl, hashOf, hueOf } from "./colours";
import { CELL_H, CELL_W, FOOT_X } from "./people";

type Pen = CanvasRenderingContext2D;

// A tile lies at (16, 44) to (80, 108) of a cell.
const LEFT = 16;
const TOP = 44;
const SIDE = 64;
const BOTTOM = TOP + SIDE;

export interface Look {
  kind: ThingKind;
  state: number;
  stocked: boolean;
  south: boolean; // whether the same stands to the south of it
  north: boolean;
}

function oval(pen: Pen, x: number, y: number, width: number, height: number, fill: string): void {
  pen.fillStyle = fill;
  pen.beginPath();
  pen.ellipse(x, y, width, height, 0, 0, Math.PI * 2);
  pen.fill();
}

function block(pen: Pen, x: number, y: number, width: number, height: number, radius: number, fill: string): void {
  pen.fillStyle = fill;
  pen.beginPath();
  pen.roundRect(x, y, width, height, radius);
  pen.fill();
}

const shadow = (pen: Pen, width = 24, y = BOTTOM - 8) => oval(pen, FOOT_X, y, width, width * 0.36, "rgb(20 24 32 / 0.2)");

function tree(pen: Pen): void {
  shadow(pen, 30);
  block(pen, FOOT_X - 6, BOTTOM - 34, 12, 28, 5, "#6b4a33");
  block(pen, FOOT_X - 6, BOTTOM - 34, 5, 28, 4, "#7d5a40");
  for (const [x, y, size, fill] of [
    [FOOT_X, BOTTOM - 54, 31, "#2f6a42"],
    [FOOT_X - 15, BOTTOM - 46, 19, "#2f6a42"],
    [FOOT_X + 15, BOTTOM - 46, 19, "#2f6a42"],
    [FOOT_X - 3, BOTTOM - 60, 25, "#3c8050"],
    [FOOT_X - 9, BOTTOM - 68, 15, "#509a60"],
    [FOOT_X + 12, BOTTOM - 56, 10, "#468d58"],
    [FOOT_X - 18, BOTTOM - 52, 8, "#468d58"],
  ] as [number, number, number, string][]) {
    oval(pen, x, y, size, size * 0.9, fill);
  }
}

function stump(pen: Pen): void {
  shadow(pen, 18);
  block(pen, FOOT_X - 13, BOTTOM - 26, 26, 18, 7, "#6b4a33");
  oval(pen, FOOT_X, BOTTOM - 26, 13, 6, "#c39a6b");
  pen.strokeStyle = "#9b744a";
  pen.lineWidth = 1.5;
  for (const size of [4, 8.5]) {
    pen.beginPath();
    pen.ellipse(FOOT_X, BOTTOM - 26, size, size * 0.45, 0, 0, Math.PI * 2);
    pen.stroke();
  }
}

function bush(pen: Pen, look: Look): void {
  shadow(pen, 26);
  for (const [x, y, size, fill] of [
    [FOOT_X - 13, BOTTOM - 20, 15, "#3d7c43"],
    [FOOT_X + 13, BOTTOM - 20, 15, "#3d7c43"],
    [FOOT_X, BOTTOM - 25, 20, "#3d7c43"],
    [FOOT_X - 4, BOTTOM - 29, 15, "#529654"],
    [FOOT_X - 8, BOTTOM - 34, 7, "#69ab66"],
  ] as [number, number, number, string][]) {
    oval(pen, x, y, size, size * 0.82, fill);
  }
  if (!look.stocked) return;
  for (const [x, y] of [
    [-14, -24],
    [-3, -18],
    [9, -25],
    [0, -33],
    [16, -16],
    [-9, -12],
  ]) {
    oval(pen, FOOT_X + x, BOTTOM + y, 4.2, 4.2, "#b3263b");
    oval(pen, FOOT_X + x - 1.2, BOTTOM + y - 1.4, 1.3, 1.3, "#ff9aa6");
  }
}

function wall(pen: Pen, look: Look): void {
  const rise = 30;
  const [left, wide] = [LEFT - 2, SIDE + 4]; // a little over the edge, so that no gap shows between two
  if (!look.south) {
    block(pen, left, BOTTOM - rise - 2, wide, rise + 2, 0, "#b9a78f");
    pen.strokeStyle = "rgb(110 94 76 / 0.55)";
    pen.lineWidth = 1.6;
    for (let row = 0; row < 3; row += 1) {
      const y = BOTTOM - rise + row * 10;
      pen.beginPath();
      pen.moveTo(left, y);
      pen.lineTo(left + wide, y);
      for (let at = row % 2 ? 8 : 0; at < SIDE; at += 16) {
        pen.moveTo(LEFT + at, y);
        pen.lineTo(LEFT + at, y + 10);
      }
      pen.stroke();
    }
    block(pen, left, BOTTOM - 4, wide, 4, 0, "rgb(40 34 30 / 0.28)");
  }
  block(pen, left, TOP - rise - 1, wide, SIDE + 2, 0, "#7d695b");
  if (!look.north) block(pen, left, TOP - rise - 1, wide, 6, 0, "#8f7a6b");
  if (!look.south) block(pen, left, BOTTOM - rise - 5, wide, 6, 0, "#958072");
}

function door(pen: Pen, look: Look): void {
  const open = look.kind.walkable[look.state];
  const rise = 30;
  if (open) {
    block(pen, LEFT, TOP - 4, SIDE, 6, 0, "rgb(40 34 30 / 0.35)");
    for (const x of [LEFT, LEFT + SIDE - 9]) {
      block(pen, x, TOP - rise, 9, SIDE + rise, 2, "#6f553f");
      block(pen, x, TOP - rise, 3, SIDE + rise, 2, "#856a51");
    }
    block(pen, LEFT + 9, TOP - 8, 9, SIDE + 2, 2, "#a9773f");
    return;
  }
  block(pen, LEFT, TOP - rise, SIDE, SIDE, 0, "#7a6556");
  block(pen, LEFT, BOTTOM - rise - 22, SIDE, rise + 22, 2, "#6f553f");
  block(pen, LEFT + 8, BOTTOM - rise - 16, SIDE - 16, rise + 16, 3, "#a9773f");
  pen.strokeStyle = "rgb(90 58 28 / 0.6)";
  pen.lineWidth = 2;
  for (const x of [LEFT + 24, LEFT + 40]) {
    pen.beginPath();
    pen.moveTo(x, BOTTOM - rise - 14);
    pen.lineTo(x, BOTTOM - 2);
    pen.stroke();
  }
  oval(pen, LEFT + SIDE - 17, BOTTOM - 20, 3.2, 3.2, "#f3d27a");
}

function bed(pen: Pen): void {
  block(pen, LEFT + 8, TOP - 4, SIDE - 16, SIDE + 2, 7, "#7a5638");
  block(pen, LEFT + 12, TOP + 1, SIDE - 24, SIDE - 9, 6, "#efe8da");
  block(pen, LEFT + 17, TOP + 5, SIDE - 34, 14, 6, "#ffffff");
  block(pen, LEFT + 12, TOP + 24, SIDE - 24, SIDE - 32, 6, "#4c78a8");
  block(pen, LEFT + 12, TOP + 24, SIDE - 24, 7, 4, "#7ba2cc");
}

function chair(pen: Pen): void {
  shadow(pen, 16);
  for (const x of [-12, 8]) block(pen, FOOT_X + x, BOTTOM - 22, 5, 16, 2, "#6d4b2f");
  block(pen, FOOT_X - 15, BOTTOM - 30, 30, 11, 4, "#a87b4c");
  block(pen, FOOT_X - 14, BOTTOM - 56, 28, 24, 6, "#8a6239");
  block(pen, FOOT_X - 10, BOTTOM - 52, 20, 15, 4, "#a87b4c");
}

function table(pen: Pen): void {
  shadow(pen, 26);
  for (const x of [LEFT + 8, LEFT + SIDE - 15]) block(pen, x, BOTTOM - 28, 7, 22, 2, "#6d4b2f");
  block(pen, LEFT + 3, BOTTOM - 44, SIDE - 6, 22, 6, "#a87b4c");
  block(pen, LEFT + 3, BOTTOM - 44, SIDE - 6, 15, 6, "#bd9062");
}

function chest(pen: Pen, look: Look): void {
  const open = /open|empty/i.test(look.kind.states[look.state] ?? "");
  shadow(pen, 26);
  block(pen, FOOT_X - 22, BOTTOM - 32, 44, 26, 5, "#8a5a2d");
  block(pen, FOOT_X - 22, BOTTOM - 20, 44, 4, 0, "#6b431f");
  if (open) {
    block(pen, FOOT_X - 22, BOTTOM - 52, 44, 17, 6, "#6b431f");
    block(pen, FOOT_X - 19, BOTTOM - 37, 38, 10, 4, "#33241a");
  } else {
    block(pen, FOOT_X - 22, BOTTOM - 44, 44, 16, 7, "#a56f3a");
    block(pen, FOOT_X - 22, BOTTOM - 31, 44, 4, 0, "#6b431f");
  }
  block(pen, FOOT_X - 5, BOTTOM - 34, 10, 12, 3, "#f0c75e");
}

function rock(pen: Pen): void {
  shadow(pen, 26);
  pen.fillStyle = "#7d838c";
  pen.beginPath();
  pen.moveTo(FOOT_X - 26, BOTTOM - 8);
  pen.lineTo(FOOT_X - 20, BOTTOM - 34);
  pen.lineTo(FOOT_X - 2, BOTTOM - 46);
  pen.lineTo(FOOT_X + 18, BOTTOM - 36);
  pen.lineTo(FOOT_X + 26, BOTTOM - 8);
  pen.fill();
  pen.fillStyle = "#9ba1aa";
  pen.beginPath();
  pen.moveTo(FOOT_X - 20, BOTTOM - 34);
  pen.lineTo(FOOT_X - 2, BOTTOM - 46);
  pen.lineTo(FOOT_X + 4, BOTTOM - 26);
  pen.lineTo(FOOT_X - 12, BOTTOM - 20);
  pen.fill();
}

function fire(pen: Pen): void {
  shadow(pen, 22);
  for (const turn of [-0.4, 0.4]) {
    pen.save();
    pen.translate(FOOT_X, BOTTOM - 12);
    pen.rotate(turn);
    block(pen, -20, -4, 40, 8, 4, "#6b4a33");
    pen.restore();
  }
  oval(pen, FOOT_X, BOTTOM - 26, 13, 17, "#f08c2e");
  oval(pen, FOOT_X, BOTTOM - 22, 8, 11, "#ffd766");
}

function sign(pen: Pen): void {
  shadow(pen, 14);
  block(pen, FOOT_X - 4, BOTTOM - 40, 8, 34, 2, "#6d4b2f");
  block(pen, FOOT_X - 22, BOTTOM - 56, 44, 24, 4, "#bd9062");
  for (const y of [-49, -41]) block(pen, FOOT_X - 15, BOTTOM + y, 30, 3, 1, "#6d4b2f");
}

function stall(pen: Pen, look: Look): void {
  const hue = (hashOf(look.kind.name) % 360) / 360;
  shadow(pen, 27);
  for (const x of [-24, 20]) block(pen, FOOT_X + x, BOTTOM - 56, 4, 50, 1, "#6d4b2f");
  block(pen, FOOT_X - 25, BOTTOM - 28, 50, 20, 3, "#a87b4c");
  block(pen, FOOT_X - 25, BOTTOM - 30, 50, 6, 2, "#c99a63");
  for (let stripe = 0; stripe < 6; stripe += 1) {
    const colour = stripe % 2 ? "#f4efe6" : css(fromHsl(hue, 0.55, 0.48));
    block(pen, FOOT_X - 27 + stripe * 9, BOTTOM - 66, 9, 18, 2, colour);
  }
}

function well(pen: Pen): void {
  shadow(pen, 24);
  oval(pen, FOOT_X, BOTTOM - 16, 22, 14, "#7d8289");
  oval(pen, FOOT_X, BOTTOM - 20, 17, 10, "#2f5f86");
  for (const x of [-20, 16]) block(pen, FOOT_X + x, BOTTOM - 56, 4, 38, 1, "#6d4b2f");
  block(pen, FOOT_X - 26, BOTTOM - 66, 52, 14, 5, "#9c5a3c");
}

function mill(pen: Pen): void {
  shadow(pen, 25);
  block(pen, FOOT_X - 22, BOTTOM - 26, 44, 20, 5, "#8a6a48");
  oval(pen, FOOT_X, BOTTOM - 32, 22, 12, "#8b9097");
  oval(pen, FOOT_X, BOTTOM - 35, 19, 9, "#a9aeb5");
  oval(pen, FOOT_X, BOTTOM - 35, 5, 3, "#54585e");
}

function forge(pen: Pen): void {
  shadow(pen, 25);
  block(pen, FOOT_X - 24, BOTTOM - 54, 30, 48, 4, "#5d6168");
  oval(pen, FOOT_X - 9, BOTTOM - 24, 10, 9, "#f08c2e");
  oval(pen, FOOT_X - 9, BOTTOM - 22, 6, 5, "#ffd766");
  block(pen, FOOT_X + 9, BOTTOM - 18, 12, 12, 2, "#6d4b2f");
  block(pen, FOOT_X + 4, BOTTOM - 26, 22, 9, 3, "#3b3f46");
}

function kettle(pen: Pen): void {
  fire(pen);
  oval(pen, FOOT_X, BOTTOM - 40, 16, 13, "#3b3f46");
  oval(pen, FOOT_X, BOTTOM - 48, 12, 4, "#6f757d");
}

function stage(pen: Pen): void {
  block(pen, LEFT + 3, TOP + 8, SIDE - 6, SIDE - 14, 4, "#8f6a43");
  for (let plank = 0; plank < 3; plank += 1) block(pen, LEFT + 3, TOP + 18 + plank * 13, SIDE - 6, 2, 0, "#6d4b2f");
}

function fishingSpot(pen: Pen): void {
  pen.save();
  pen.translate(FOOT_X - 14, BOTTOM - 6);
  pen.rotate(0.5);
  block(pen, -2, -52, 3, 52, 1, "#8a6a48");
  pen.restore();
  oval(pen, FOOT_X + 16, BOTTOM - 14, 5, 5, "#d6463c");
  oval(pen, FOOT_X + 16, BOTTOM - 16, 4, 3, "#f4efe6");
}

function home(pen: Pen, look: Look): void {
  const hue = hueOf(look.kind.name);
  shadow(pen, 29);
  block(pen, FOOT_X - 24, BOTTOM - 38, 48, 32, 3, "#e8dcc4");
  block(pen, FOOT_X - 24, BOTTOM - 38, 48, 5, 0, "rgb(90 70 50 / 0.25)");
  pen.fillStyle = css(fromHsl(hue, 0.58, 0.45));
  pen.beginPath();
  pen.moveTo(FOOT_X - 31, BOTTOM - 34);
  pen.lineTo(FOOT_X, BOTTOM - 68);
  pen.lineTo(FOOT_X + 31, BOTTOM - 34);
  pen.fill();
  pen.fillStyle = css(fromHsl(hue, 0.58, 0.56));
  pen.beginPath();
  pen.moveTo(FOOT_X - 31, BOTTOM - 34);
  pen.lineTo(FOOT_X, BOTTOM - 68);
  pen.lineTo(FOOT_X, BOTTOM - 34);
  pen.fill();
  block(pen, FOOT_X - 7, BOTTOM - 27, 14, 21, 3, "#7a5230");
  oval(pen, FOOT_X + 3, BOTTOM - 16, 1.6, 1.6, "#f3d27a");
  for (const x of [-19, 11]) block(pen, FOOT_X + x, BOTTOM - 26, 8, 9, 2, "#8fc3df");
}

function field(pen: Pen, look: Look): void {
  block(pen, LEFT, TOP, SIDE, SIDE, 0, "#8a6a45");
  for (let row = 0; row < 4; row += 1) {
    block(pen, LEFT, TOP + 6 + row * 16, SIDE, 5, 0, "#745636");
    for (let at = 0; look.stocked && at < 6; at += 1) {
      const [x, y] = [LEFT + 6 + at * 10.4, TOP + 8 + row * 16];
      block(pen, x, y - 12, 2, 14, 1, "#9aa545");
      oval(pen, x + 1, y - 13, 2.6, 4.5, "#e2bf55");
    }
  }
}

function meadow(pen: Pen, look: Look): void {
  block(pen, LEFT - 1, TOP - 1, SIDE + 2, SIDE + 2, 0, look.stocked ? "#6ba04f" : "#a39a5f");
  for (let at = 0; at < 9; at += 1) {
    const [x, y] = [LEFT + 8 + (at % 3) * 21 + (at * 7) % 5, TOP + 12 + Math.floor(at / 3) * 19];
    for (const lean of [-3, 0, 3]) block(pen, x + lean, y - 8 + Math.abs(lean), 2, 9, 1, look.stocked ? "#4d8339" : "#8a8250");
    if (look.stocked && at % 2 === 0) oval(pen, x + 1, y - 8, 3.4, 3.4, "#b3263b");
  }
}

/** A footbridge as far as it is built: beams first, then planks from the west. */
function bridge(pen: Pen, look: Look): void {
  const parts = Math.max(1, look.kind.states.length - 1);
  const built = look.kind.states.length < 2 ? 1 : look.state / parts;
  if (built < 1) block(pen, LEFT - 1, TOP, SIDE + 2, SIDE, 0, "#5288ad"); // the water is seen through the gaps
  for (const y of [TOP + 8, BOTTOM - 14]) block(pen, LEFT - 1, y, SIDE + 2, 6, 0, built > 0 ? "#6d4b2f" : "rgb(60 44 30 / 0.45)");
  const planks = 6;
  for (let at = 0; at < planks; at += 1) {
    if (at < Math.round(built * planks)) block(pen, LEFT + at * (SIDE / planks) + 1, TOP + 4, SIDE / planks - 2, SIDE - 8, 1, at % 2 ? "#b98a59" : "#a87b4c");
    else if (built === 0 && at % 3 === 1) block(pen, LEFT + at * (SIDE / planks) + 1, TOP + 14 + at * 4, SIDE / planks - 2, 20, 1, "#7d5c3c");
  }
}

function crate(pen: Pen, look: Look): void {
  const hue = (hashOf(look.kind.name) % 360) / 360;
  shadow(pen, 26);
  block(pen, FOOT_X - 23, BOTTOM - 48, 46, 42, 7, css(fromHsl(hue, 0.34, 0.42)));
  block(pen, FOOT_X - 23, BOTTOM - 48, 46, 16, 7, css(fromHsl(hue, 0.34, 0.55)));
  pen.fillStyle = "#ffffff";
  pen.font = "600 20px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText([...look.kind.name][0]?.toUpperCase() ?? "?", FOOT_X, BOTTOM - 20);
}

const DRAWN: [words: RegExp, draw: (pen: Pen, look: Look) => void][] = [
  [/stump/, stump],
  [/tree|oak|pine|birch/, (pen, look) => (/stump|felled|cut/i.test(look.kind.states[look.state] ?? "") ? stump(pen) : tree(pen))],
  [/bush|shrub|plant|crop|berry/, bush],
  [/stall|granary|shop/, stall],
  [/well|fountain/, well],
  [/mill/, mill],
  [/forge|anvil/, forge],
  [/kettle|cauldron/, kettle],
  [/stage|platform/, stage],
  [/fishing/, fishingSpot],
  [/wall|fence|palisade/, wall],
  [/door|gate/, door],
  [/bed|cot/, bed],
  [/chair|bench|stool|seat/, chair],
  [/table|desk|counter/, table],
  [/chest|box|barrel|crate/, chest],
  [/rock|stone|boulder|ore/, rock],
  [/fire|hearth|stove|oven/, fire],
  [/sign|board|notice/, sign],
  [/bridge/, bridge],
  [/home|house|hut|cabin/, home],
  [/field|farm/, field],
  [/meadow|pasture/, meadow],
];

/** What lies flat and fills all of its tiles, each in the same way: no picture stands on it. */
const FLAT = /bridge|field|farm|meadow|pasture/i;
export const liesFlat = (kind: ThingKind): boolean => FLAT.test(kind.name);

/** Whether things of a kind join into one where they stand side by side. */
export const joins = (kind: ThingKind): boolean => /wall|fence|palisade/i.test(kind.name);

export function drawThing(pen: Pen, look: Look): void {
  const found = DRAWN.find(([words]) => words.test(look.kind.name.toLowerCase()));
  (found ? found[1] : crate)(pen, look);
}

/** One tile of a thing that has several: they make a rectangle. `edges` are west 1, east 2, north 4 and south 8. */
export function drawSlab(pen: Pen, look: Look, edges: number): void {
  const { name } = look.kind;
  if (liesFlat(look.kind)) return drawThing(pen, look);
  const hue = (hashOf(name) % 360) / 360;
  block(pen, LEFT - 1, TOP - 1, SIDE + 2, SIDE + 2, 0, css(fromHsl(hue, 0.22, 0.62)));
  const rim = css(fromHsl(hue, 0.3, 0.38));
  if (edges & 1) block(pen, LEFT, TOP, 4, SIDE, 0, rim);
  if (edges & 2) block(pen, LEFT + SIDE - 4, TOP, 4, SIDE, 0, rim);
  if (edges & 4) block(pen, LEFT, TOP, SIDE, 4, 0, rim);
  if (edges & 8) block(pen, LEFT, BOTTOM - 6, SIDE, 6, 0, rim);
}

/** A small heap of some item on the ground. */
export function drawItem(pen: Pen, name: string): void {
  const y = BOTTOM - 16;
  oval(pen, FOOT_X, y + 5, 15, 5, "rgb(20 24 32 / 0.2)");
  if (/berr|apple|fruit|cherry/i.test(name)) {
    for (const [dx, dy] of [[-6, 0], [6, 0], [0, -7]]) {
      oval(pen, FOOT_X + dx, y + dy, 6, 6, "#b3263b");
      oval(pen, FOOT_X + dx - 2, y + dy - 2, 1.8, 1.8, "#ff9aa6");
    }
  } else if (/coin|gold|money/i.test(name)) {
    for (const [dx, dy] of [[-6, 1], [5, 2], [0, -5]]) {
      oval(pen, FOOT_X + dx, y + dy, 7, 5, "#b9882a");
      oval(pen, FOOT_X + dx, y + dy - 1.5, 6.4, 4.2, "#f6d36b");
    }
  } else if (/wood|log|plank|stick/i.test(name)) {
    for (const dy of [2, -6]) {
      block(pen, FOOT_X - 15, y + dy - 4, 30, 8, 4, "#8a5f3d");
      oval(pen, FOOT_X + 14, y + dy, 3, 4, "#d3ab7a");
    }
  } else {
    const fill = css(fromHsl((hashOf(name) % 360) / 360, 0.4, 0.5));
    block(pen, FOOT_X - 11, y - 12, 22, 18, 8, fill);
    block(pen, FOOT_X - 5, y - 17, 10, 7, 3, fill);
  }
}

export const cellPen = (pen: Pen, cell: number, columns: number, draw: () => void): void => {
  pen.save();
  pen.translate((cell % columns) * CELL_W, Math.floor(cell / columns) * CELL_H);
  pen.beginPath();
  pen.rect(0, 0, CELL_W, CELL_H);
  pen.clip();
  draw();
  pen.restore();
};

/** Small people, drawn by code: five views with three poses each, two that lie, and the badges over their heads.
 *
 * What is the same for all is on one sheet. What has a colour of its own is on a second one, as shares of red (shirt),
 * green (hair) and blue (skin) that the shader fills in.
 */

export const CELL_W = 96;
export const CELL_H = 128;
export const TILE = 64; // pixels of a tile on the sheets
export const FOOT_X = 48;
export const FOOT_Y = 104;
export const CELLS = 24;
export const LYING = 15;
export const FALLEN = 16;
export const Badge = { ASLEEP: 17, UNCONTROLLED: 18, THINKING: 19, FALLEN: 20 } as const;

type Pen = CanvasRenderingContext2D;

const SHIRT = (shade: number) => `rgb(${Math.round(255 * shade)} 0 0)`;
const HAIR = (shade: number) => `rgb(0 ${Math.round(255 * shade)} 0)`;
const SKIN = (shade: number) => `rgb(0 0 ${Math.round(255 * shade)})`;
const INK = "#2a2733";

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

interface View {
  turn: number; // how far the face is turned to the right; side is 1
  back: boolean;
}

const VIEWS: View[] = [
  { turn: 0, back: false }, // south
  { turn: 0.45, back: false }, // south-east
  { turn: 1, back: false }, // east
  { turn: 0.45, back: true }, // north-east
  { turn: 0, back: true }, // north
];

function legs(base: Pen, pose: number, side: boolean): void {
  const stride = pose === 0 ? 0 : pose === 1 ? 1 : -1;
  const spread = side ? 3 : 7;
  for (const leg of [-1, 1]) {
    const lift = stride === leg ? 5 : 0;
    const swing = side ? stride * leg * 6 : 0;
    const x = FOOT_X + leg * spread + swing;
    block(base, x - 5.5, FOOT_Y - 22, 11, 20 - lift, 4, leg < 0 && side ? "#383c52" : "#454a63");
    oval(base, x + (side ? 2 : 0), FOOT_Y - 2 - lift, 7.5, 4.5, INK);
  }
}

function body(mask: Pen, pose: number, view: View): void {
  const stride = pose === 0 ? 0 : pose === 1 ? 1 : -1;
  const side = view.turn === 1;
  const width = side ? 24 : 32;
  const arm = (x: number, swing: number, shade: number) => {
    block(mask, x - 4.5, FOOT_Y - 47 + Math.abs(swing) * 0.2, 9, 22, 4.5, SHIRT(shade));
    oval(mask, x + swing * 0.4, FOOT_Y - 24 - Math.abs(swing) * 0.4, 4.6, 4.6, SKIN(0.95));
  };
  if (side) arm(FOOT_X - 2, -stride * 8, 0.62);
  else {
    arm(FOOT_X - 17, stride * 6, 0.74);
    arm(FOOT_X + 17, -stride * 6, 0.74);
  }
  block(mask, FOOT_X - width / 2, FOOT_Y - 50, width, 33, 11, SHIRT(0.84));
  block(mask, FOOT_X - width / 2 + 3, FOOT_Y - 50, width - 8, 20, 10, SHIRT(1));
  if (side) arm(FOOT_X + 1, stride * 8, 0.74);
}

function head(base: Pen, mask: Pen, view: View): void {
  const x = FOOT_X + view.turn * 2;
  const y = FOOT_Y - 64;
  oval(mask, x, y, 17.5, 17, SKIN(0.97));
  if (!view.back) {
    if (view.turn < 1) oval(mask, x - 17 + view.turn * 4, y + 2, 3.4, 4, SKIN(0.86));
    oval(mask, x + 17 - view.turn * 16, y + 2, 3.4, 4, SKIN(0.86));
  }
  mask.save();
  mask.beginPath();
  mask.ellipse(x, y, 18.5, 18, 0, 0, Math.PI * 2);
  mask.clip();
  if (view.back) {
    oval(mask, x, y - 1, 19, 18, HAIR(0.86));
    oval(mask, x + view.turn * 6, y - 6, 14, 10, HAIR(1));
    if (view.turn) oval(mask, x + 17, y + 6, 5, 8, SKIN(0.94));
  } else {
    const shift = -view.turn * 9;
    oval(mask, x + shift, y - 13, 21, 12.5, HAIR(0.9));
    oval(mask, x + shift + 3, y - 15, 14, 8, HAIR(1.0));
    if (view.turn) oval(mask, x - 19 + (view.turn < 1 ? -1 : 3), y - 1, 9, 14, HAIR(0.86));
  }
  mask.restore();
  if (view.back) return;
  const at = x + view.turn * 8;
  const gap = view.turn === 1 ? 0 : 7 - view.turn * 1.5;
  const eyes = view.turn === 1 ? [x + 11] : [at - gap, at + gap];
  for (const eye of eyes) {
    oval(base, eye, y + 3, 2.7, 3.6, INK);
    oval(base, eye + 0.9, y + 1.9, 1, 1.1, "#ffffff");
  }
  base.strokeStyle = "rgb(120 60 50 / 0.8)";
  base.lineWidth = 1.7;
  base.lineCap = "round";
  base.beginPath();
  base.arc(view.turn === 1 ? x + 9 : at, y + 7.5, 3.4, 0.25 * Math.PI, 0.75 * Math.PI);
  base.stroke();
}

function lying(base: Pen, mask: Pen, fallen: boolean): void {
  const y = FOOT_Y - 14;
  block(base, 62, y - 1, 22, 12, 6, "#454a63");
  oval(base, 84, y + 5, 5, 7, INK);
  block(mask, 36, y - 6, 32, 20, 9, SHIRT(fallen ? 0.75 : 0.92));
  oval(mask, 27, y - 1, 15, 14.5, SKIN(0.97));
  mask.save();
  mask.beginPath();
  mask.ellipse(27, y - 1, 16, 15.5, 0, 0, Math.PI * 2);
  mask.clip();
  oval(mask, 16, y - 6, 12, 16, HAIR(0.95));
  mask.restore();
  base.strokeStyle = INK;
  base.lineWidth = 2.2;
  base.lineCap = "round";
  for (const eye of [y - 4, y + 5]) {
    base.beginPath();
    if (fallen) {
      base.moveTo(28, eye - 2);
      base.lineTo(33, eye + 2);
      base.moveTo(33, eye - 2);
      base.lineTo(28, eye + 2);
    } else {
      base.arc(30, eye, 3, -0.4 * Math.PI, 0.4 * Math.PI);
    }
    base.stroke();
  }
}

function badge(pen: Pen, fill: string, ink: string, draw: (pen: Pen) => void): void {
  pen.shadowColor = "rgb(0 0 0 / 0.35)";
  pen.shadowBlur = 5;
  oval(pen, 48, 64, 31, 27, fill);
  pen.shadowBlur = 0;
  pen.strokeStyle = ink;
  pen.fillStyle = ink;
  pen.lineWidth = 5;
  pen.lineCap = "round";
  pen.lineJoin = "round";
  draw(pen);
}

const BADGES: Record<number, (pen: Pen) => void> = {
  [Badge.ASLEEP]: (pen) =>
    badge(pen, "#3b4a86", "#e8ecff", (at) => {
      for (const [x, y, size] of [
        [30, 74, 16],
        [52, 58, 11],
      ]) {
        at.beginPath();
        at.moveTo(x, y - size);
        at.lineTo(x + size, y - size);
        at.lineTo(x, y);
        at.lineTo(x + size, y);
        at.stroke();
      }
    }),
  [Badge.UNCONTROLLED]: (pen) =>
    badge(pen, "#6b6f7b", "#ffffff", (at) => {
      at.beginPath();
      at.arc(48, 65, 13, -0.32 * Math.PI, 1.32 * Math.PI);
      at.moveTo(48, 48);
      at.lineTo(48, 63);
      at.stroke();
    }),
  [Badge.THINKING]: (pen) => {
    oval(pen, 34, 92, 6, 5, "#ffffff");
    oval(pen, 27, 100, 3.5, 3, "#ffffff");
    badge(pen, "#ffffff", "#5a47c8", (at) => {
      for (const x of [34, 48, 62]) oval(at, x, 65, 5, 5, "#5a47c8");
    });
  },
  [Badge.FALLEN]: (pen) =>
    badge(pen, "#c0392b", "#ffffff", (at) => {
      at.beginPath();
      at.moveTo(48, 48);
      at.lineTo(48, 67);
      at.stroke();
      oval(at, 48, 78, 3.6, 3.6, "#ffffff");
    }),
};

/** The two sheets of people. */
export function drawPeople(): { base: HTMLCanvasElement; mask: HTMLCanvasElement } {
  const sheets = [0, 1].map(() => {
    const canvas = document.createElement("canvas");
    canvas.width = CELL_W * CELLS;
    canvas.height = CELL_H;
    return canvas;
  });
  const [base, mask] = sheets.map((sheet) => sheet.getContext("2d") as Pen);
  const inCell = (cell: number, draw: () => void) => {
    for (const pen of [base, mask]) {
      pen.save();
      pen.translate(cell * CELL_W, 0);
      pen.beginPath();
      pen.rect(0, 0, CELL_W, CELL_H);
      pen.clip();
    }
    draw();
    base.restore();
    mask.restore();
  };
  VIEWS.forEach((view, at) => {
    for (let pose = 0; pose < 3; pose += 1) {
      inCell(at * 3 + pose, () => {
        legs(base, pose, view.turn === 1);
        body(mask, pose, view);
        head(base, mask, view);
      });
    }
  });
  inCell(LYING, () => lying(base, mask, false));
  inCell(FALLEN, () => lying(base, mask, true));
  for (const [cell, draw] of Object.entries(BADGES)) inCell(Number(cell), () => draw(base));
  return { base: sheets[0], mask: sheets[1] };
}

/** Letters and emoji that stand for characters: one sheet with a cell for each sign that is in use. */

import type { Person } from "../frames/world";

export const SIDE = 16; // cells in a row of the sheet, and rows
export const MOST_SIGNS = SIDE * SIDE - 1; // cell 0 is that of characters without a sign
const CELL = 64; // pixels

export interface Signs {
  signs: string[]; // cell - 1 -> sign
  cells: Uint8Array; // four for each row: the cell of its sign, or 0, and nothing
}

/** The cells of all characters; those whose sign has no room on the sheet are drawn as people. */
export function signsOf(people: Record<string, Person>, count: number): Signs {
  const known = new Map<string, number>(); // sign -> cell
  const cells = new Uint8Array(4 * Math.max(1, count));
  for (const [row, { sprite }] of Object.entries(people)) {
    if (!sprite || Number(row) >= count) continue;
    if (!known.has(sprite) && known.size < MOST_SIGNS) known.set(sprite, known.size + 1);
    cells[4 * Number(row)] = known.get(sprite) ?? 0;
  }
  return { signs: [...known.keys()], cells };
}

/** The sheet of signs: letters in white with a dark edge, emoji as the system draws them. */
export function drawSigns(signs: string[]): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE * CELL;
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  pen.font = `600 ${CELL * 0.62}px system-ui, "Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji", sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = CELL * 0.08;
  pen.lineJoin = "round";
  pen.strokeStyle = "rgb(0 0 0 / 0.45)";
  pen.fillStyle = "#ffffff";
  signs.forEach((sign, at) => {
    const x = ((at + 1) % SIDE) * CELL + CELL / 2;
    const y = Math.floor((at + 1) / SIDE) * CELL + CELL * 0.53;
    pen.strokeText(sign, x, y, CELL * 0.8);
    pen.fillText(sign, x, y, CELL * 0.8);
  });
  return canvas;
}

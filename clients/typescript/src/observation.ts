/** What an observation says about the tiles around its observer. */

import type { Direction, Observation } from "./protocol.js";

const ASLEEP = 1;

/** Direction -> the step that it is. The x axis grows to the east and the y axis to the south. */
export const STEPS: Readonly<Record<Exclude<Direction, "DIRECTION_UNSPECIFIED">, readonly [number, number]>> = {
  DIRECTION_N: [0, -1],
  DIRECTION_NE: [1, -1],
  DIRECTION_E: [1, 0],
  DIRECTION_SE: [1, 1],
  DIRECTION_S: [0, 1],
  DIRECTION_SW: [-1, 1],
  DIRECTION_W: [-1, 0],
  DIRECTION_NW: [-1, -1],
};

/** Whether the observer sees a tile. */
export function sees(observation: Observation, x: number, y: number): boolean {
  return bit(observation, observation.visibleTiles?.visible, x, y);
}

/** Whether the observer sees a tile and could step on it, were it free of actors. */
export function canWalk(observation: Observation, x: number, y: number): boolean {
  return bit(observation, observation.visibleTiles?.walkable, x, y);
}

/** Whether the observer is asleep, and so can only wake up. */
export function isAsleep(observation: Observation): boolean {
  return ((observation.me?.statusBits ?? 0) & ASLEEP) !== 0;
}

function bit(observation: Observation, bits: Uint8Array | undefined, x: number, y: number): boolean {
  const tiles = observation.visibleTiles;
  if (!tiles || !bits) return false;
  const side = 2 * tiles.radius + 1;
  const column = x - tiles.centreX + tiles.radius;
  const row = y - tiles.centreY + tiles.radius;
  if (column < 0 || row < 0 || column >= side || row >= side) return false;
  const place = row * side + column;
  return (((bits[place >> 3] ?? 0) >> (place & 7)) & 1) === 1;
}

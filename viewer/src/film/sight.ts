/** What can be seen from a tile, by the same rules as the world's. */

import { AWAY, type Scene } from "../frames/scene";

/** The tiles strictly between (0, 0) and (dx, dy) on Bresenham's line from the former. */
export function between(dx: number, dy: number): [number, number][] {
  const width = Math.abs(dx);
  const height = Math.abs(dy);
  const stepX = Math.sign(dx);
  const stepY = Math.sign(dy);
  let x = 0;
  let y = 0;
  let error = width - height;
  const tiles: [number, number][] = [];
  if (!width && !height) return tiles;
  for (;;) {
    const double = 2 * error;
    if (double >= -height) {
      error -= height;
      x += stepX;
    }
    if (double <= width) {
      error += width;
      y += stepY;
    }
    if (x === dx && y === dy) return tiles;
    tiles.push([x, y]);
  }
}

function lineOfSight(symmetric: boolean, dx: number, dy: number): [number, number][] {
  if (symmetric && (dy < 0 || (dy === 0 && dx < 0))) return between(-dx, -dy).map(([x, y]) => [x + dx, y + dy]);
  return between(dx, dy);
}

/** Tile -> whether it blocks sight. */
export function opaqueTiles(scene: Scene): Uint8Array {
  const { world } = scene;
  const opaque = new Uint8Array(world.info.width * world.info.height);
  const floors = Uint8Array.from(world.info.floors, (floor) => Number(floor.opaque));
  for (let tile = 0; tile < opaque.length; tile += 1) opaque[tile] = floors[world.floor[tile]] ?? 0;
  for (let thing = 0; thing < world.things; thing += 1) {
    if (scene.thingX[thing] !== AWAY && world.kindOf(thing).opaque[scene.thingState[thing]]) {
      for (const [dx, dy] of world.tilesOf(thing)) {
        opaque[(scene.thingY[thing] + dy) * world.info.width + scene.thingX[thing] + dx] = 1;
      }
    }
  }
  return opaque;
}

/** The tiles that are seen from one, as [x, y]. */
export function seenFrom(scene: Scene, x: number, y: number, opaque = opaqueTiles(scene)): [number, number][] {
  const { width, height, sight_radius: radius, world_version: version } = scene.world.info;
  const symmetric = version === "1.1.0";
  const seen: [number, number][] = [];
  for (let dy = -radius; dy <= radius; dy += 1) {
    for (let dx = -radius; dx <= radius; dx += 1) {
      const tileX = x + dx;
      const tileY = y + dy;
      if (tileX < 0 || tileY < 0 || tileX >= width || tileY >= height) continue;
      const clear = lineOfSight(symmetric, dx, dy).every(([bx, by]) => !opaque[(y + by) * width + x + bx]);
      if (clear) seen.push([tileX, tileY]);
    }
  }
  return seen;
}

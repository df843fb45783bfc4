/** The picture of a map that was drawn with Tiled: the images of its tilesets, and which tile lies where. */

import type { TileSet, Tiles } from "../frames/world";

const MOST_LAYERS = 100;
const MOST_PIXELS = 8192; // of a side of an image
const FLIP_X = 0x80000000;
const FLIP_Y = 0x40000000;
const FLIP_DIAGONALLY = 0x20000000; // first, about the diagonal from the upper left
const NUMBER = 0x0fffffff;

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** The numbers of a layer's tiles. Throws if there are more or fewer than the map has; no more are decompressed. */
export async function layerOf(base64: string, count: number): Promise<Uint32Array> {
  const reader = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const bytes = new Uint8Array(count * 4);
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (size + part.value.length > bytes.length) {
      await reader.cancel();
      throw new Error("a layer has more tiles than the map");
    }
    bytes.set(part.value, size);
    size += part.value.length;
  }
  if (size !== bytes.length) throw new Error("a layer has fewer tiles than the map");
  const view = new DataView(bytes.buffer);
  return Uint32Array.from({ length: count }, (_, at) => view.getUint32(at * 4, true));
}

/** Where in its image a tile is; null if the set has no such tile. */
export function placeIn(set: TileSet, number: number): [x: number, y: number] | null {
  const own = number - set.first;
  if (own < 0 || own >= set.count) return null;
  const [column, row] = [own % set.columns, Math.floor(own / set.columns)];
  return [set.margin + column * (set.width + set.spacing), set.margin + row * (set.height + set.spacing)];
}

/** The matrix by which a tile is flipped and rotated about its middle, for `pen.transform`. */
export function flipOf(gid: number): [number, number, number, number] {
  const x = gid & FLIP_X ? -1 : 1;
  const y = gid & FLIP_Y ? -1 : 1;
  return gid & FLIP_DIAGONALLY ? [0, y, x, 0] : [x, 0, 0, y];
}

async function imageOf(set: TileSet): Promise<ImageBitmap> {
  const bytes = bytesOf(set.image);
  const head = new DataView(bytes.buffer);
  if (bytes.length < 24 || Math.max(head.getUint32(16), head.getUint32(20)) > MOST_PIXELS) throw new Error("an image is too large");
  return createImageBitmap(new Blob([bytes], { type: "image/png" }));
}

export class TileArt {
  private constructor(
    private readonly width: number,
    private readonly sets: { set: TileSet; image: ImageBitmap }[],
    private readonly layers: Uint32Array[],
  ) {}

  /** Null where a map has no picture, or one that can't be read: then its floors are drawn. */
  static async load(tiles: Tiles | undefined, width: number, height: number): Promise<TileArt | null> {
    if (!tiles) return null;
    try {
      if (tiles.width !== width || tiles.height !== height || tiles.layers.length > MOST_LAYERS) throw new Error("it is of another map");
      const sets = await Promise.all(tiles.sets.map(async (set) => ({ set, image: await imageOf(set) })));
      const layers: Uint32Array[] = [];
      for (const layer of tiles.layers) layers.push(await layerOf(layer, width * height));
      return new TileArt(width, sets, layers);
    } catch (error) {
      console.warn("The picture of the map can't be drawn:", error);
      return null;
    }
  }

  /** Whether there is a tile at a place. */
  covers(x: number, y: number): boolean {
    return this.layers.some((layer) => layer[y * this.width + x] !== 0);
  }

  /** Draw the tiles of a place, the lowest first, each as large as the place. */
  draw(pen: CanvasRenderingContext2D, x: number, y: number, left: number, top: number, size: number): void {
    for (const layer of this.layers) {
      const gid = layer[y * this.width + x];
      if (gid) this.drawTile(pen, gid, left, top, size);
    }
  }

  private drawTile(pen: CanvasRenderingContext2D, gid: number, left: number, top: number, size: number): void {
    const number = gid & NUMBER;
    const found = this.sets.find(({ set }) => placeIn(set, number));
    const place = found && placeIn(found.set, number);
    if (!found || !place) return;
    const { set, image } = found;
    pen.save();
    pen.imageSmoothingEnabled = set.width > size; // pixels stay sharp when they grow
    pen.translate(left + size / 2, top + size / 2);
    pen.transform(...flipOf(gid), 0, 0);
    pen.drawImage(image, place[0], place[1], set.width, set.height, -size / 2, -size / 2, size, size);
    pen.restore();
  }
}

/** The whole map in a corner, with everybody as a dot and what is on screen as a frame. */

import { AWAY, type Scene } from "../frames/scene";
import { shirtOf } from "./colours";
import type { Camera2d } from "./view";

const SIDE = 176; // pixels
const MANY = 3000; // characters; more of them are set as single pixels

export class Minimap {
  private readonly pen: CanvasRenderingContext2D;
  private readonly ground: HTMLCanvasElement;
  private readonly picture: { image: ImageData; pixels: Uint32Array; empty: Uint32Array } | null; // of a crowd
  private readonly colours: string[];
  private readonly scale: number;
  private readonly ratio = Math.min(2, window.devicePixelRatio || 1);
  private last = 0;
  behind = false; // the map was drawn since, too soon after the last time to draw it here as well

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly scene: Scene,
    ground: HTMLCanvasElement,
    go: (x: number, y: number) => void,
  ) {
    const { width, height } = scene.world.info;
    this.scale = SIDE / Math.max(width, height);
    canvas.width = Math.max(24, Math.round(width * this.scale * this.ratio));
    canvas.height = Math.max(24, Math.round(height * this.scale * this.ratio));
    canvas.style.width = `${canvas.width / this.ratio}px`;
    canvas.style.height = `${canvas.height / this.ratio}px`;
    this.pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.ground = this.small(ground);
    const many = scene.world.actors > MANY;
    this.picture = many ? this.pictureOf(this.ground) : null;
    this.colours = many
      ? []
      : scene.world.actorIds.map((id) => {
          const [red, green, blue] = shirtOf(id);
          return `rgb(${red} ${green} ${blue})`;
        });
    const jump = (event: PointerEvent) => {
      if (!(event.buttons & 1)) return;
      const box = canvas.getBoundingClientRect();
      go((event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      jump(event);
    });
    canvas.addEventListener("pointermove", jump);
  }

  /** The ground with what stands on it in the beginning. */
  private small(ground: HTMLCanvasElement): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = this.canvas.height;
    const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    pen.drawImage(ground, 0, 0, canvas.width, canvas.height);
    const { world } = this.scene;
    const size = Math.max(1, this.scale * this.ratio);
    pen.fillStyle = "rgb(52 58 54 / 0.75)";
    for (let thing = 0; thing < world.things; thing += 1) {
      const kind = world.kindOf(thing);
      if (world.thingX[thing] === AWAY || kind.walkable[0]) continue;
      const [width, height] = kind.size ?? [1, 1];
      pen.fillRect(world.thingX[thing] * size, world.thingY[thing] * size, width * size, height * size);
    }
    return canvas;
  }

  /** The pixels of the ground, read once: reading them back from a GPU would be waited for. */
  private pictureOf(ground: HTMLCanvasElement) {
    const pen = ground.getContext("2d") as CanvasRenderingContext2D;
    const image = pen.getImageData(0, 0, ground.width, ground.height);
    const pixels = new Uint32Array(image.data.buffer);
    return { image, pixels, empty: pixels.slice() };
  }

  update(camera: Camera2d, now: number, picked: number): void {
    this.canvas.hidden = camera.showsAll;
    if (this.canvas.hidden) return;
    const everyMs = this.scene.world.actors > 20_000 ? 500 : 100;
    this.behind = now - this.last < everyMs;
    if (this.behind) return;
    this.last = now;
    const { pen, ratio } = this;
    const size = this.scale * ratio;
    if (this.picture) this.drawMany(size, this.picture);
    else {
      pen.drawImage(this.ground, 0, 0);
      this.drawDots(size);
    }
    if (picked >= 0 && !this.scene.isAway(picked)) {
      pen.strokeStyle = "#ffffff";
      pen.lineWidth = 2 * ratio;
      pen.beginPath();
      pen.arc((this.scene.xOf(picked) + 0.5) * size, (this.scene.yOf(picked) + 0.5) * size, 5 * ratio, 0, Math.PI * 2);
      pen.stroke();
    }
    const [left, top] = camera.toTile(0, 0);
    pen.strokeStyle = "rgb(255 255 255 / 0.95)";
    pen.lineWidth = 1.5 * ratio;
    pen.strokeRect(left * size, top * size, (camera.width / camera.scale) * size, (camera.height / camera.scale) * size);
  }

  private drawDots(size: number): void {
    const { pen, scene } = this;
    const radius = Math.max(2.2 * this.ratio, size * 0.5);
    pen.strokeStyle = "rgb(0 0 0 / 0.6)";
    pen.lineWidth = 1;
    for (let row = 0; row < scene.world.actors; row += 1) {
      if (scene.isAway(row)) continue;
      pen.fillStyle = this.colours[row];
      pen.beginPath();
      pen.arc((scene.xOf(row) + 0.5) * size, (scene.yOf(row) + 0.5) * size, radius, 0, Math.PI * 2);
      pen.fill();
      if (scene.world.actors < 300) pen.stroke();
    }
  }

  private drawMany(size: number, { image, pixels, empty }: NonNullable<Minimap["picture"]>): void {
    const { places, world } = this.scene;
    const { width } = image;
    pixels.set(empty);
    for (let at = 0; at < 2 * world.actors; at += 2) {
      if (places[at] === AWAY) continue;
      pixels[((places[at + 1] * size) | 0) * width + ((places[at] * size) | 0)] = 0xff3060f0;
    }
    this.pen.putImageData(image, 0, 0);
  }
}

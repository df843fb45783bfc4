/** Speech bubbles and names over the map. Whatever characters say is set as text, never as markup. */

import { css, shirtOf } from "./colours";
import type { Zone } from "../frames/world";
import { plain } from "../words";
import type { Camera2d } from "./view";

export interface Speech {
  row: number;
  tick: number;
  text: string;
}

export interface Label {
  row: number;
  strong: boolean;
  played: boolean; // by a person
}

interface Bubble {
  element: HTMLDivElement;
  text: HTMLSpanElement;
  key: string;
  width: number;
  height: number;
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const ZONE_FROM = 48; // pixels of the width of a zone with a name
const MOST_BUBBLES = 20;
const BUBBLE_PIXELS = 150_000; // of the map for each bubble, so that there is a map to see
const MARGIN = 4;
const BUBBLES_TO = 2000; // the highest z-index of a bubble, far above those of names
const LABEL_PIXELS = 7; // of a letter in a name, about
const ZONE_PIXELS = 6.6;
const PERSON_LETTERS = 9; // " · person", which the style adds
const LABEL_WIDEST = 150; // as the style has it
const LABEL_HEIGHT = 18;
const HEAD_HALF = 0.3; // tiles
const HEAD_TOP = -0.35; // tiles above the northern edge of the tile on which somebody stands
const HEAD_BOTTOM = 0.3;
const ASIDE = [0, 0.36, -0.36]; // of its width, a bubble can be beside the one who speaks
const ASIDE_COSTS = 40; // pixels of height that are worth it
const FAR_UP = 170; // pixels; a bubble that would have to go higher is left out

const overlaps = (one: Box, other: Box) =>
  one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;

/** Moves a box up until it covers none of the others; null if it would have to go too far. */
export function placeAbove(box: Box, taken: Box[], most = FAR_UP): Box | null {
  const placed = { ...box };
  for (let round = 0; round <= taken.length; round += 1) {
    const hit = taken.find((other) => overlaps(placed, other));
    if (!hit) return placed;
    const height = placed.bottom - placed.top;
    placed.bottom = hit.top - MARGIN;
    placed.top = placed.bottom - height;
    if (box.bottom - placed.bottom > most) return null;
  }
  return null;
}

/**
 * Where a bubble goes whose tail ends at a point: above what is taken and above all heads if there is room, a little
 * to the side if it would have to go far up, and over heads rather than away. Null if it would be cut by the upper edge.
 */
export function placeBubble(
  [x, y]: readonly [number, number],
  [width, height]: readonly [number, number],
  across: number,
  taken: Box[],
  heads: Box[],
): Box | null {
  const bottom = Math.max(y, height + 2);
  const at = (aside: number): Box => {
    const left = Math.min(Math.max(x - width / 2 + aside * width, 4), Math.max(4, across - width - 4));
    return { left, right: left + width, top: bottom - height, bottom };
  };
  const lowest = (covered: Box[]): Box | null => {
    let best: Box | null = null;
    let least = Infinity;
    for (const aside of ASIDE) {
      const box = placeAbove(at(aside), covered);
      if (!box || box.top < 0) continue;
      const cost = bottom - box.bottom + (aside ? ASIDE_COSTS : 0);
      if (cost >= least) continue;
      [best, least] = [box, cost];
    }
    return best;
  };
  return lowest([...taken, ...heads]) ?? lowest(taken);
}

export class Overlay {
  private readonly bubbles = new Map<number, Bubble>(); // actor row -> what it says
  private readonly labels = new Map<number, HTMLDivElement>();

  private readonly zones: { element: HTMLDivElement; x: number; y: number; width: number; letters: number }[];

  constructor(
    private readonly root: HTMLElement,
    private readonly ids: string[],
    private readonly names: string[],
    zones: Zone[],
  ) {
    this.zones = zones.map(({ name, areas: [[west, north, east]] }) => {
      const element = document.createElement("div");
      element.className = "zone";
      element.dir = "auto";
      element.textContent = plain(name);
      root.append(element);
      return { element, x: (west + east + 1) / 2, y: north, width: east - west + 1, letters: [...name].length };
    });
  }

  /**
   * Show what is said, who is who, and the names of zones. `at` tells where somebody is, in tiles; null for who is away.
   * What matters less gives way: the name of a zone to people, names and bubbles, a name to the bubbles.
   */
  update(
    speech: Speech[],
    labels: Label[],
    camera: Camera2d,
    at: (row: number) => [number, number] | null,
    age: (tick: number) => number,
    zones: boolean,
  ): void {
    const heads = new Map<number, Box>();
    for (const row of new Set([...labels, ...speech].map((one) => one.row))) {
      const place = at(row);
      if (!place) continue;
      const [left, top] = camera.toScreen(place[0] + 0.5 - HEAD_HALF, place[1] + HEAD_TOP);
      const [right, bottom] = camera.toScreen(place[0] + 0.5 + HEAD_HALF, place[1] + HEAD_BOTTOM);
      heads.set(row, { left, top, right, bottom });
    }
    const bubbles = this.updateBubbles(speech, camera, at, age, [...heads.values()]);
    const names = this.updateLabels(labels, camera, at, bubbles);
    this.updateZones(camera, zones, [...names, ...heads.values()]);
  }

  /** Show the names of zones at their northern edges, where there is room for them. */
  private updateZones(camera: Camera2d, on: boolean, before: Box[]): void {
    const taken = [...before];
    for (const { element, x, y, width, letters } of this.zones) {
      const [left, top] = camera.toScreen(x, y);
      const half = (ZONE_PIXELS * letters) / 2 + 6;
      const box = { left: left - half, right: left + half, top, bottom: top + LABEL_HEIGHT };
      const shown = on && width * camera.scale >= ZONE_FROM && !taken.some((other) => overlaps(box, other));
      element.hidden = !shown;
      if (!shown) continue;
      taken.push(box);
      element.style.transform = `translate(-50%, 0) translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  }

  private updateBubbles(
    speech: Speech[],
    camera: Camera2d,
    at: (row: number) => [number, number] | null,
    age: (tick: number) => number,
    heads: Box[],
  ): Box[] {
    const shown = new Set<number>();
    const newest = new Map<number, Speech>();
    for (const said of speech) {
      const before = newest.get(said.row);
      if (!before || before.tick < said.tick) newest.set(said.row, said);
    }
    const onScreen = [...newest.values()]
      .flatMap((said) => {
        const place = at(said.row);
        return place ? [{ said, point: camera.toScreen(place[0] + 0.5, place[1] - 0.55) }] : [];
      })
      .filter(({ point: [x, y] }) => x > -40 && y > 0 && x < camera.width + 40 && y < camera.height + 60)
      .sort((one, other) => other.said.tick - one.said.tick)
      .slice(0, Math.min(MOST_BUBBLES, Math.max(2, Math.round((camera.width * camera.height) / BUBBLE_PIXELS))))
      .sort((one, other) => other.point[1] - one.point[1]);
    const taken: Box[] = [];
    for (const { said, point } of onScreen) {
      const bubble = this.bubble(said);
      const tip = Math.max(point[1] - 8, bubble.height + 2);
      const box = placeBubble([point[0], tip], [bubble.width, bubble.height], camera.width, taken, heads);
      if (!box) continue;
      taken.push(box);
      shown.add(said.row);
      const fade = Math.max(0, Math.min(1, (1 - age(said.tick)) * 3));
      const { style } = bubble.element;
      style.transform = `translate(${Math.round(box.left)}px, ${Math.round(box.top)}px)`;
      style.opacity = String(fade);
      // Not the order in which they were first shown; and the stalk of a higher one passes behind those below.
      style.zIndex = String(BUBBLES_TO - taken.length);
      style.setProperty("--tail", `${Math.round(Math.min(Math.max(point[0] - box.left, 12), bubble.width - 12))}px`);
      style.setProperty("--stalk", `${Math.max(0, Math.round(tip - box.bottom))}px`);
    }
    for (const [row, { element }] of this.bubbles) {
      if (newest.has(row)) element.classList.toggle("hidden", !shown.has(row));
      else {
        element.remove();
        this.bubbles.delete(row);
      }
    }
    return taken;
  }

  private bubble(said: Speech): Bubble {
    const key = `${said.tick} ${said.text}`;
    let bubble = this.bubbles.get(said.row);
    if (!bubble) {
      const element = document.createElement("div");
      element.className = "bubble";
      const text = document.createElement("span");
      text.dir = "auto";
      element.append(text);
      element.style.setProperty("--shirt", css(shirtOf(this.ids[said.row])));
      this.root.append(element);
      bubble = { element, text, key: "", width: 0, height: 0 };
      this.bubbles.set(said.row, bubble);
    }
    if (bubble.key !== key) {
      bubble.key = key;
      bubble.text.textContent = said.text;
      bubble.element.classList.remove("hidden");
      bubble.width = bubble.element.offsetWidth;
      bubble.height = bubble.element.offsetHeight;
    }
    return bubble;
  }

  private updateLabels(labels: Label[], camera: Camera2d, at: (row: number) => [number, number] | null, bubbles: Box[]): Box[] {
    const placed = labels.flatMap((label) => {
      const place = at(label.row);
      return place ? [{ ...label, place }] : [];
    });
    const wanted = new Set(placed.map(({ row }) => row));
    for (const [row, element] of this.labels) {
      if (wanted.has(row)) continue;
      element.remove();
      this.labels.delete(row);
    }
    const taken = [...bubbles];
    // Strong ones are last, so they are above others; they take their room first.
    for (const [rank, { row, strong, played, place }] of [...placed.entries()].reverse()) {
      let element = this.labels.get(row);
      if (!element) {
        element = document.createElement("div");
        element.className = "label";
        element.dir = "auto";
        element.textContent = this.names[row];
        this.root.append(element);
        this.labels.set(row, element);
      }
      const [x, y] = camera.toScreen(place[0] + 0.5, place[1] + 0.98);
      const letters = [...this.names[row]].length + (played ? PERSON_LETTERS : 0);
      const half = Math.min(LABEL_WIDEST, LABEL_PIXELS * letters + 12) / 2;
      const box = { left: x - half, right: x + half, top: y, bottom: y + LABEL_HEIGHT };
      element.hidden = !strong && taken.some((other) => overlaps(box, other));
      if (!element.hidden) taken.push(box);
      element.classList.toggle("played", played);
      element.classList.toggle("strong", strong);
      element.style.zIndex = String(rank);
      element.style.transform = `translate(-50%, 0) translate(${Math.round(x)}px, ${Math.round(y)}px)`;
    }
    return taken;
  }
}

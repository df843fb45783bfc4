/** What never changes: the map, and the names behind the numbers. */

import { Kind, Tag } from "../codes";
import { FrameError, type Frame } from "./layout";

export interface Floor {
  name: string;
  walkable: boolean;
  opaque: boolean;
  hazards: string[];
}

export interface ThingKind {
  name: string;
  states: string[];
  walkable: boolean[];
  opaque: boolean[];
  tags: string[];
  stock_item: string;
  size?: [width: number, height: number]; // in tiles, of those that have several
}

/** How ticks make days. */
export interface Calendar {
  day_ticks: number;
  first_minute: number;
  seasons?: Season[]; // runs of earlier versions have none of these
  weather?: Weights;
  weather_key?: number;
  festivals?: Festival[];
  night?: [first: number, end: number] | null;
}

/** Kinds of weather with their weights. */
export type Weights = [kind: string, weight: number][];

export interface Season {
  name: string;
  days: number;
  weather: Weights;
}

export interface Festival {
  name: string;
  day: number;
  every: number;
  hours: [first: number, end: number] | null;
  where: string;
  purpose: string;
}

/** A named place: rectangles of tiles, their edges included. */
export interface Zone {
  name: string;
  areas: [west: number, north: number, east: number, south: number][];
  owner: string;
  purpose: string;
}

/** What is known of a person; what is not is missing. */
export interface Person {
  name?: string;
  age?: number;
  traits?: string[];
  backstory?: string;
  voice?: string;
  goals?: string[];
  fears?: string[];
  knows?: string[];
  secret?: string;
  home?: string;
  work?: string;
  relations?: [who: string, what: string][];
  habits?: string[];
  colour?: string;
  team?: string;
  sprite?: string; // a letter or an emoji
}

/** A tileset of Tiled with its image. */
export interface TileSet {
  first: number; // the number of its first tile in the layers
  count: number;
  columns: number;
  width: number; // of a tile, in pixels
  height: number;
  margin: number;
  spacing: number;
  image: string; // a PNG in base64
}

/** The picture of a map that was drawn with Tiled. */
export interface Tiles {
  width: number; // of the map, in tiles
  height: number;
  sets: TileSet[];
  layers: string[]; // from the lowest on: four bytes for each tile, in zlib and base64
}

interface Info {
  name: string;
  world_version: string;
  width: number;
  height: number;
  sight_radius: number;
  hearing_radius: number;
  tick_ms: number;
  window_ticks: number;
  mode: "live" | "replay" | "clip";
  run_id?: string;
  actions: string[];
  reasons: string[];
  floors: Floor[];
  kinds: ThingKind[];
  items: string[];
  item_words: [one: string, several: string][]; // as they stand in a sentence: "an axe", "axes"
  own_needs?: string[]; // that the scenario declares
  actor_types: string[];
  setting: { zones: Zone[]; calendar: Calendar };
  people: Record<string, Person>; // by row
  tiles?: Tiles; // of a map that was drawn with Tiled
}

export class World {
  readonly info: Info;
  readonly floor: Uint8Array;
  readonly thingX: Int16Array; // at the beginning; -1, as y: it may be built later
  readonly thingY: Int16Array;
  readonly thingKind: Uint8Array;
  readonly thingIds: string[];
  readonly actorIds: string[];
  readonly actorType: Uint16Array;
  readonly rowOf = new Map<string, number>();
  readonly thingRowOf = new Map<string, number>();
  private readonly tiles: [dx: number, dy: number][][] = []; // kind -> offsets of the tiles of such things, once asked for

  constructor(frame: Frame) {
    if (frame.kind !== Kind.HELLO) throw new FrameError("the first frame must be the one with the map");
    this.info = frame.json<Info>(Tag.INFO, {} as Info);
    this.floor = frame.u8(Tag.FLOOR);
    const places = frame.i16(Tag.OBJECT_PLACE);
    const things = places.length >> 1;
    this.thingX = places.subarray(0, things);
    this.thingY = places.subarray(things);
    this.thingKind = frame.u8(Tag.OBJECT_KIND);
    this.thingIds = frame.json<string[]>(Tag.OBJECT_IDS, []);
    this.actorIds = frame.json<string[]>(Tag.ACTOR_IDS, []);
    this.actorType = frame.u16(Tag.ACTOR_TYPE);
    this.actorIds.forEach((id, row) => this.rowOf.set(id, row));
    this.thingIds.forEach((id, row) => this.thingRowOf.set(id, row));
  }

  get actors(): number {
    return this.actorIds.length;
  }

  get things(): number {
    return this.thingIds.length;
  }

  kindOf(thing: number): ThingKind {
    return this.info.kinds[this.thingKind[thing]];
  }

  /** The offsets of a thing's tiles from its north-west one. */
  tilesOf(thing: number): readonly [dx: number, dy: number][] {
    const [width, height] = this.kindOf(thing).size ?? [1, 1];
    return (this.tiles[this.thingKind[thing]] ??= Array.from({ length: width * height }, (_, at) => [at % width, Math.floor(at / width)]));
  }

  /** The name of a character for people; its id where it has none. */
  nameOf(actor: number): string {
    return this.info.people[actor]?.name || this.actorIds[actor];
  }

  /** The name for people of what an action aims at: an actor, an object, or the item itself. */
  targetName(id: string): string {
    const actor = this.rowOf.get(id);
    if (actor !== undefined) return this.nameOf(actor);
    const thing = this.thingRowOf.get(id);
    return thing === undefined ? id.replaceAll("_", " ") : `the ${this.kindOf(thing).name.replaceAll("_", " ")}`;
  }

  personOf(actor: number): Person | undefined {
    return this.info.people[actor];
  }

  /** The smallest zone that a tile is in. */
  zoneAt(x: number, y: number): Zone | undefined {
    const size = (zone: Zone): number =>
      zone.areas.reduce((sum, [west, north, east, south]) => sum + (east - west + 1) * (south - north + 1), 0);
    return this.info.setting.zones
      .filter((zone) => zone.areas.some(([west, north, east, south]) => west <= x && x <= east && north <= y && y <= south))
      .sort((one, other) => size(one) - size(other))[0];
  }

  typeOf(actor: number): string {
    return this.info.actor_types[this.actorType[actor]] ?? "";
  }
}

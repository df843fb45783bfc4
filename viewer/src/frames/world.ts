/** What never changes: the map, and the names behind the numbers. */

import { Kind, Tag, FrameError, type Frame } from "./layout";

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
  actor_types: string[];
}

export class World {
  readonly info: Info;
  readonly floor: Uint8Array;
  readonly thingX: Int16Array;
  readonly thingY: Int16Array;
  readonly thingKind: Uint8Array;
  readonly thingIds: string[];
  readonly actorIds: string[];
  readonly actorType: Uint16Array;
  readonly rowOf = new Map<string, number>();
  readonly thingRowOf = new Map<string, number>();

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

  typeOf(actor: number): string {
    return this.info.actor_types[this.actorType[actor]] ?? "";
  }
}

/** What a character perceives, read from the JSON of its control stream, in which zero and empty values are left out. */

import { DX, DY, WAYS } from "../codes";

export type Way = (typeof WAYS)[number];
type Step = readonly [dx: number, dy: number];
export const STEPS = Object.fromEntries(WAYS.map((way, at): [Way, Step] => [way, [DX[at], DY[at]]])) as Record<Way, Step>;

export interface Stack {
  kind: string;
  quantity: number;
}

export interface Me {
  id: string;
  x: number;
  y: number;
  status: number;
  facing: Way;
  inventory: Stack[];
  energy: number;
  hunger: number;
  needs: [name: string, value: number][];
}

export interface SeenPerson {
  id: string;
  x: number;
  y: number;
  status: number;
}

export interface SeenThing {
  id: string;
  kind: string; // "ground" of items that lie about
  x: number;
  y: number;
  state: string;
  work: number;
  items: Stack[];
  verbs: string[];
  owner: string;
  width: number;
  height: number;
}

export interface Heard {
  who: string;
  text: string;
}

export interface OfferSeen {
  from: string;
  kind: string;
  amount: number;
  wanted: string; // nothing if it is empty
  wantedAmount: number;
}

/** What became of the last intent. */
export interface Outcome {
  action: string; // "MOVE", "BUY"
  ok: boolean;
  reason: string; // "too_far"; empty if all went well
  target: string;
  effects: [name: string, value: number][];
}

export interface Moment {
  tick: number;
  leftMs: number; // for an intent
  me: Me;
  radius: number;
  seen: Uint8Array; // tile of the window -> whether it is in sight
  walkable: Uint8Array;
  people: SeenPerson[];
  things: SeenThing[];
  heard: Heard[];
  offers: OfferSeen[];
  outcome: Outcome | null;
}

export interface ItemCount {
  item: string;
  amount: number;
}

export interface WorkInfo {
  verb: string;
  needs: ItemCount[];
  consumes: ItemCount[];
  yields: ItemCount[];
  wears: ItemCount[];
}

export interface PriceInfo {
  item: string;
  price: ItemCount[];
}

export interface KindRules {
  name: string;
  states: number;
  works: Map<string, WorkInfo>; // "state verb" -> what it takes and gives
  tags: string[];
  stockItem: string;
  container: { sells: PriceInfo[]; buys: PriceInfo[] } | null;
  build: WorkInfo | null;
}

/** What can be done in the world. */
export interface Rules {
  kinds: Map<string, KindRules>;
  uses: Map<string, [need: string, by: number][]>; // item -> what using one adds
}

export type Intent = Record<string, object>; // { move: { direction: "DIRECTION_N" } }

type Json = Record<string, unknown>;

const num = (value: unknown): number => Number(value ?? 0);
const str = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(str) : []);
const obj = (value: unknown): Json => (value && typeof value === "object" ? (value as Json) : {});
const way = (value: unknown): Way => (str(value).replace("DIRECTION_", "") as Way) || "S";

/** "REASON_TOO_FAR" -> "too_far". */
export const reasonOf = (value: unknown): string => str(value).replace(/^REASON_/, "").replace("UNSPECIFIED", "").toLowerCase();

function bits(packed: unknown, count: number): Uint8Array {
  const bytes = Uint8Array.from(atob(str(packed)), (letter) => letter.charCodeAt(0));
  return Uint8Array.from({ length: count }, (_, at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1);
}

const stacksOf = (value: unknown): Stack[] => list(value).map((one) => ({ kind: str(one.kind), quantity: num(one.quantity) }));

function meOf(me: Json): Me {
  return {
    id: str(me.entityId),
    x: num(me.x),
    y: num(me.y),
    status: num(me.statusBits),
    facing: way(me.facing),
    inventory: stacksOf(me.inventory),
    energy: num(me.energy),
    hunger: num(me.hunger),
    needs: list(me.needs).map((one) => [str(one.name), num(one.value)]),
  };
}

const thingOf = (one: Json): SeenThing => ({
  id: str(one.objectId),
  kind: str(one.kind),
  x: num(one.x),
  y: num(one.y),
  state: str(one.state),
  work: num(one.workRemaining),
  items: stacksOf(one.items),
  verbs: strings(one.verbs),
  owner: str(one.owner),
  width: num(one.width) || 1,
  height: num(one.height) || 1,
});

function outcomeOf(value: unknown): Outcome | null {
  if (!value) return null;
  const one = obj(value);
  return {
    action: str(one.actionType).replace("ACTION_TYPE_", ""),
    ok: one.ok === true,
    reason: reasonOf(one.reason),
    target: str(one.targetId),
    effects: list(one.effects).map((effect) => [str(effect.name), num(effect.value)]),
  };
}

export function momentOf(observation: unknown): Moment {
  const given = obj(observation);
  const window = obj(given.visibleTiles);
  const radius = num(window.radius);
  const tiles = (2 * radius + 1) ** 2;
  return {
    tick: num(given.tickId),
    leftMs: num(given.deadlineMs),
    me: meOf(obj(given.me)),
    radius,
    seen: bits(window.visible, tiles),
    walkable: bits(window.walkable, tiles),
    people: list(given.visibleEntities).map((one) => ({ id: str(one.entityId), x: num(one.x), y: num(one.y), status: num(one.statusBits) })),
    things: list(given.visibleObjects).map(thingOf),
    heard: list(given.events)
      .filter((one) => one.heard)
      .map((one) => ({ who: str(obj(one.heard).speakerId), text: str(obj(one.heard).text) })),
    offers: list(given.offers).map((one) => ({
      from: str(one.actorId),
      kind: str(one.kind),
      amount: num(one.amount),
      wanted: str(one.wantedKind),
      wantedAmount: num(one.wantedAmount),
    })),
    outcome: outcomeOf(given.result),
  };
}

const amountsOf = (value: unknown): ItemCount[] => list(value).map((one) => ({ item: str(one.item), amount: num(one.amount) }));

const workOf = (one: Json): WorkInfo => ({
  verb: str(one.verb),
  needs: amountsOf(one.needs),
  consumes: amountsOf(one.consumes),
  yields: amountsOf(one.yields),
  wears: amountsOf(one.wears),
});

const pricesOf = (value: unknown): PriceInfo[] => list(value).map((one) => ({ item: str(one.item), price: amountsOf(one.price) }));

/** What can be done with things and items, as the first frame of a control stream says. */
export function rulesOf(opened: unknown): Rules {
  const { kinds, items } = obj(opened);
  const rules: Rules = { kinds: new Map(), uses: new Map() };
  for (const kind of list(kinds)) {
    const works = new Map<string, WorkInfo>();
    for (const state of list(kind.states)) {
      for (const work of list(state.actions)) works.set(`${str(state.name)} ${str(work.verb)}`, workOf(work));
    }
    const shop = obj(kind.container);
    rules.kinds.set(str(kind.name), {
      name: str(kind.name),
      states: list(kind.states).length,
      works,
      tags: strings(kind.tags),
      stockItem: str(kind.stockItem),
      container: kind.container ? { sells: pricesOf(shop.sells), buys: pricesOf(shop.buys) } : null,
      build: kind.build ? workOf(obj(kind.build)) : null,
    });
  }
  for (const item of list(items)) {
    const use = list(item.use).map((one): [string, number] => [str(one.need), num(one.by)]);
    if (use.length) rules.uses.set(str(item.name), use);
  }
  return rules;
}

/** Tells whether a tile of the window around the observer is in sight. */
export function sees(moment: Moment, x: number, y: number): boolean {
  const at = placeOf(moment, x, y);
  return at >= 0 && moment.seen[at] === 1;
}

/** The place of a tile in the window around the observer, or -1. */
export function placeOf({ me, radius }: Moment, x: number, y: number): number {
  const [dx, dy] = [x - me.x + radius, y - me.y + radius];
  const side = 2 * radius + 1;
  return dx >= 0 && dy >= 0 && dx < side && dy < side ? dy * side + dx : -1;
}

// Intents

export const moveTo = (direction: Way): Intent => ({ move: { direction: `DIRECTION_${direction}` } });
export const say = (text: string): Intent => ({ say: { text } });
export const wait = (): Intent => ({ wait: {} });

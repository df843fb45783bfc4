/** What is possible here and now, from what the character perceives and what the world allows. */

import { Status } from "../codes";
import { count, plain } from "../words";
import type { Intent, ItemCount, Moment, OfferSeen, PriceInfo, Rules, SeenPerson, SeenThing, Stack, WorkInfo } from "./frames";
import { distance, tileBox } from "./path";

export interface Choice {
  key: string;
  words: string; // "Buy bread"
  detail: string; // "2 coins; you have 5"
  doing: string; // "buying bread", for the echo
  missing: string; // what is lacking for it; empty if it is possible
  intent: Intent;
}

export interface Group {
  key: string;
  title: string;
  detail: string;
  person: string; // the id of the person that it is about, or ""
  choices: Choice[];
}

export type NameOf = (id: string) => string;

const MOST_CHOICES = 24; // of one group

const amounts = (some: ItemCount[]): string => some.map((one) => `${count(one.amount)} ${plain(one.item)}`).join(" and ");
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function carried(moment: Moment, kind: string): number {
  return moment.me.inventory.filter((one) => one.kind === kind).reduce((sum, one) => sum + one.quantity, 0);
}

/** "You lack 2 coins", or nothing. */
function lacks(moment: Moment, wanted: ItemCount[]): string {
  const short = wanted.filter((one) => carried(moment, one.item) < one.amount);
  return short.length ? `You need ${amounts(short)}` : "";
}

function work(moment: Moment, thing: SeenThing, verb: string, info: WorkInfo | undefined): Choice {
  const parts: string[] = [];
  const tools = [...(info?.needs ?? []), ...(info?.wears ?? []).map((one) => ({ item: one.item, amount: 1 }))];
  if (info?.consumes.length) parts.push(`takes ${amounts(info.consumes)}`);
  if (info?.yields.length) parts.push(`gives ${amounts(info.yields)}`);
  if (thing.work > 1) parts.push(`${count(thing.work)} steps left`);
  return {
    key: `work ${thing.id} ${verb}`,
    words: capital(plain(verb)),
    detail: parts.join(", "),
    doing: `${plain(verb)} at the ${plain(thing.kind)}`,
    missing: lacks(moment, [...tools, ...(info?.consumes ?? [])]),
    intent: { interact: { targetId: thing.id, verb } },
  };
}

/** What a container holds lies on its tile. */
function holds(moment: Moment, thing: SeenThing): Stack[] {
  return moment.things.find((one) => one.kind === "ground" && one.x === thing.x && one.y === thing.y)?.items ?? [];
}

function trade(moment: Moment, thing: SeenThing, { item, price }: PriceInfo, buys: boolean): Choice {
  const stock = holds(moment, thing).find((one) => one.kind === item)?.quantity ?? 0;
  const missing = buys ? (stock ? lacks(moment, price) : "Sold out") : lacks(moment, [{ item, amount: 1 }]);
  const verb = buys ? "buy" : "sell";
  return {
    key: `${verb} ${thing.id} ${item}`,
    words: `${capital(verb)} ${plain(item)}`,
    detail: buys ? `for ${amounts(price)}; ${count(stock)} there` : `for ${amounts(price)}`,
    doing: `${verb}ing ${plain(item)}`,
    missing,
    intent: { [verb]: { targetId: thing.id, kind: item } },
  };
}

function shelf(moment: Moment, thing: SeenThing): Choice[] {
  const takes = holds(moment, thing).map((one) => ({
    key: `take ${thing.id} ${one.kind}`,
    words: `Take ${plain(one.kind)}`,
    detail: `${count(one.quantity)} there`,
    doing: `taking ${plain(one.kind)}`,
    missing: "",
    intent: { take: { targetId: thing.id, kind: one.kind } },
  }));
  const puts = moment.me.inventory.map((one) => ({
    key: `put ${thing.id} ${one.kind}`,
    words: `Put in ${plain(one.kind)}`,
    detail: `you have ${count(one.quantity)}`,
    doing: `putting ${plain(one.kind)} away`,
    missing: "",
    intent: { put: { targetId: thing.id, kind: one.kind } },
  }));
  return [...takes, ...puts];
}

/** What can be done with a thing. Traders trade at a stall, although one that belongs to nobody would let them take all. */
function withThing(moment: Moment, rules: Rules, thing: SeenThing): Choice[] {
  const kind = rules.kinds.get(thing.kind);
  const found = thing.verbs.map((verb) => work(moment, thing, verb, kind?.works.get(`${thing.state} ${verb}`)));
  if (kind?.container) {
    const { sells, buys } = kind.container;
    const isStall = sells.length + buys.length > 0;
    const isOwn = thing.owner === moment.me.id;
    if (isOwn || (!isStall && !thing.owner)) found.push(...shelf(moment, thing));
    else {
      found.push(...sells.map((one) => trade(moment, thing, one, true)));
      found.push(...buys.map((one) => trade(moment, thing, one, false)));
    }
  } else if (distance(thing, moment.me.x, moment.me.y) === 0) {
    for (const one of thing.items) {
      found.push({
        key: `pick ${thing.id} ${one.kind}`,
        words: `Pick up ${plain(one.kind)}`,
        detail: `${count(one.quantity)} here`,
        doing: `picking up ${plain(one.kind)}`,
        missing: "",
        intent: { pickup: { kind: one.kind } },
      });
    }
  }
  return found;
}

const offered = (one: OfferSeen): string => {
  const wants = one.wanted ? ` for ${count(one.wantedAmount)} ${plain(one.wanted)}` : " for nothing";
  return `${count(one.amount)} ${plain(one.kind)}${wants}`;
};

function withPerson(moment: Moment, person: SeenPerson, name: string): Choice[] {
  const found: Choice[] = [];
  for (const one of moment.offers.filter((offer) => offer.from === person.id)) {
    const asked = one.wanted ? [{ item: one.wanted, amount: one.wantedAmount }] : [];
    found.push(
      {
        key: `accept ${person.id}`,
        words: "Accept the offer",
        detail: offered(one),
        doing: `accepting the offer of ${name}`,
        missing: lacks(moment, asked),
        intent: { accept: { targetId: person.id } },
      },
      { key: `decline ${person.id}`, words: "Decline", detail: "", doing: "declining", missing: "", intent: { decline: { targetId: person.id } } },
    );
  }
  for (const one of moment.me.inventory) {
    found.push({
      key: `give ${person.id} ${one.kind}`,
      words: `Give ${plain(one.kind)}`,
      detail: `you have ${count(one.quantity)}`,
      doing: `giving ${plain(one.kind)} to ${name}`,
      missing: "",
      intent: { give: { targetId: person.id, kind: one.kind } },
    });
  }
  return found;
}

/** What can be done with what one carries. */
export function pockets(moment: Moment, rules: Rules): Choice[] {
  const found: Choice[] = [];
  for (const { kind, quantity } of moment.me.inventory) {
    const use = rules.uses.get(kind);
    if (use) {
      found.push({
        key: `use ${kind}`,
        words: `Use ${plain(kind)}`,
        detail: use.map(([need, by]) => `${plain(need)} ${by > 0 ? "+" : ""}${count(by)}`).join(", "),
        doing: `using ${plain(kind)}`,
        missing: "",
        intent: { use: { kind } },
      });
    }
    found.push({
      key: `drop ${kind}`,
      words: `Put down ${plain(kind)}`,
      detail: quantity > 1 ? `one of ${count(quantity)}` : "",
      doing: `putting down ${plain(kind)}`,
      missing: "",
      intent: { drop: { kind } },
    });
  }
  return found;
}

/** What can be built, on the tile that one faces. */
function building(moment: Moment, rules: Rules): Choice[] {
  const found: Choice[] = [];
  for (const [name, { build }] of rules.kinds) {
    if (!build) continue;
    const taken = [...build.needs, ...build.consumes];
    found.push({
      key: `build ${name}`,
      words: `Build ${plain(name)}`,
      detail: build.consumes.length ? `takes ${amounts(build.consumes)}` : "in front of you",
      doing: `building a ${plain(name)}`,
      missing: lacks(moment, taken),
      intent: { build: { kind: name, direction: `DIRECTION_${moment.me.facing}` } },
    });
  }
  return found;
}

function rest(moment: Moment): Choice {
  return moment.me.status & Status.ASLEEP
    ? { key: "wake", words: "Wake up", detail: "", doing: "waking up", missing: "", intent: { wake: {} } }
    : { key: "sleep", words: "Sleep", detail: "until you wake up", doing: "falling asleep", missing: "", intent: { sleep: {} } };
}

/** Whether items on the ground lie in a container, which is told with the container. */
export function isShelf(moment: Moment, rules: Rules, ground: SeenThing): boolean {
  return moment.things.some((one) => one.x === ground.x && one.y === ground.y && rules.kinds.get(one.kind)?.container != null);
}

/** All that is possible here and now, the nearest first. */
export function menuOf(moment: Moment, rules: Rules, nameOf: NameOf): Group[] {
  const { me } = moment;
  if (me.status & Status.ASLEEP) return [{ key: "self", title: "You are asleep", detail: "", person: "", choices: [rest(moment)] }];
  const groups: Group[] = [];
  const near = moment.things.filter((one) => distance(one, me.x, me.y) <= 1 && !(one.kind === "ground" && isShelf(moment, rules, one)));
  near.sort((one, other) => distance(one, me.x, me.y) - distance(other, me.x, me.y));
  for (const thing of near) {
    const choices = withThing(moment, rules, thing).slice(0, MOST_CHOICES);
    if (!choices.length) continue;
    const states = (rules.kinds.get(thing.kind)?.states ?? 0) > 1 ? plain(thing.state) : "";
    const owner = !thing.owner ? "" : thing.owner === me.id ? "your own" : `of ${nameOf(thing.owner)}`;
    const title = thing.kind === "ground" ? "On the ground" : capital(plain(thing.kind));
    groups.push({ key: thing.id, title, detail: [owner, states].filter(Boolean).join(", "), person: "", choices });
  }
  for (const person of moment.people.filter((one) => distance(tileBox(one.x, one.y), me.x, me.y) <= 1)) {
    const name = nameOf(person.id);
    const detail = person.status & Status.ASLEEP ? "asleep" : "";
    groups.push({ key: person.id, title: name, detail, person: person.id, choices: withPerson(moment, person, name).slice(0, MOST_CHOICES) });
  }
  const own = [...building(moment, rules), rest(moment)];
  groups.push({ key: "self", title: "You", detail: "", person: "", choices: own });
  return groups;
}

/** An offer to somebody, as the form makes it. */
export function offerTo(target: string, kind: string, amount: number, wanted: string, wantedAmount: number): Intent {
  return { offer: { targetId: target, kind, amount, ...(wanted ? { wantedKind: wanted, wantedAmount } : {}) } };
}

const WHY: Record<string, string> = {
  late_tick: "That came too late; it will be tried again",
  early_tick: "That came too early; it will be tried again",
  duplicate_intent: "One thing at a time",
  text_too_long: "That is too long to say",
  overloaded: "That was too much at once",
  stopping: "The world is being shut down",
  out_of_bounds: "The world ends there",
  not_walkable: "There is no way through",
  illegal_diagonal: "There is no way through between the two",
  tile_contested: "Another one was quicker",
  swap: "You two are in each other's way",
  cycle: "You are in each other's way",
  occupied: "Another one stands there",
  blocked_by_failed_move: "Another one stands there",
  asleep: "You are asleep",
  incapacitated: "You are too weak for that",
  too_tired: "You are too tired to get up",
  nothing_here: "There is none of that here",
  not_in_inventory: "You don't have that",
  inventory_full: "You can't carry more",
  not_usable: "That can't be used",
  too_far: "That is too far away",
  wrong_state: "That is not possible now",
  missing_item: "You lack something for that",
  target_occupied: "Something is in the way",
  closed: "It is closed at this time",
  not_owner: "That belongs to another",
  container_full: "There is no room for more",
  not_for_sale: "That is not traded here",
  no_offer: "That offer does not stand any more",
  away: "Your character is not in the world now",
  still_walking: "You are still walking; the ground is heavy",
  none_left: "No more of those can be built",
};

/** A reason of the world in plain words. */
export const why = (reason: string): string => WHY[reason] ?? (reason ? `That did not work: ${plain(reason)}` : "");

/** How numbers and codes are put into words. */

import { NEED_FULL } from "./codes";
import type { Result } from "./frames/scene";
import type { World } from "./frames/world";

export const WAYS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"];

const whole = new Intl.NumberFormat("en-GB");
export const count = (value: number): string => whole.format(Math.round(value));

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "no price";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(3)}`;
}

export function seconds(value: number): string {
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 1 : 0)} s`;
}

export const plain = (code: string): string => code.replaceAll("_", " ");

export const percent = (need: number): string => `${Math.round((100 * need) / NEED_FULL)} %`;

/** "the old mill", "Ada's house": a zone as it stands in a sentence, as Python's `zone_phrase` has it. */
export const zonePhrase = (zone: string): string => (/^\p{Lu}/u.test(zone) ? plain(zone) : `the ${plain(zone)}`);

/** "1 axe", "2 axes", "-1 bread". */
export function counted(world: World, name: string, amount: number): string {
  const several = world.info.item_words[world.info.items.indexOf(name)]?.[1] ?? plain(name);
  return `${count(amount)} ${Math.abs(amount) === 1 ? plain(name) : several}`;
}

/** "an axe", "2 axes", "bread", "3 berries". */
export function items(world: World, name: string, amount: number): string {
  return amount === 1 ? (world.info.item_words[world.info.items.indexOf(name)]?.[0] ?? plain(name)) : counted(world, name, amount);
}

/** Reasons of a refusal that need other words than their code. */
const REASONS: Record<string, string> = {
  out_of_bounds: "the map ends there",
  not_walkable: "something is in the way",
  illegal_diagonal: "a corner is in the way",
  tile_contested: "another went there first",
  swap: "two can't change places",
  cycle: "all wait for each other",
  occupied: "someone stands there",
  blocked_by_failed_move: "someone stands there",
  nothing_here: "none is there",
  not_in_inventory: "it has none",
  inventory_full: "no hand is free",
  missing_item: "something is missing for it",
  target_occupied: "something is where it would be",
  not_owner: "it belongs to another",
  wrong_state: "not as it is now",
  asleep: "it is asleep",
  no_offer: "there is no such offer any more",
};

const VERBS: Record<string, [done: string, not: string]> = {
  Wait: ["waits", "can't wait"],
  Pickup: ["picks up", "can't pick up"],
  Use: ["uses", "can't use it"],
  Say: ["speaks", "can't speak"],
  Interact: ["works on", "can't work on"],
  Drop: ["puts down", "can't put down"],
  Give: ["gives to", "can't give to"],
  Sleep: ["falls asleep", "can't sleep"],
  Wake: ["wakes up", "can't wake up"],
  Put: ["puts something into", "can't put it into"],
  Take: ["takes something from", "can't take it from"],
  Buy: ["buys at", "can't buy at"],
  Sell: ["sells at", "can't sell at"],
  Offer: ["makes an offer to", "can't make an offer to"],
  Accept: ["accepts the offer of", "can't accept the offer of"],
  Decline: ["declines the offer of", "can't decline the offer of"],
  Build: ["builds", "can't build"],
};

type Effects = readonly (readonly [name: string, value: number])[];

const ITEM = "inventory.";
const carried = (world: World, effects: Effects, more: boolean): string =>
  effects
    .filter(([name, value]) => name.startsWith(ITEM) && value > 0 === more)
    .map(([name, value]) => items(world, name.slice(ITEM.length), Math.abs(value)))
    .join(" and ");

/**
 * What an actor did and what else came of it: "goes north-east"; "buys bread at the stall", "-2 coins";
 * "can't go west: another went there first".
 */
export function sentence(world: World, result: Result, target = "", effects: Effects = []): [deed: string, effects: string] {
  const action = world.info.actions[result.action] ?? "?";
  const to = target && world.targetName(target);
  const reason = world.info.reasons[result.reason] ?? "?";
  const failed = result.reason ? `: ${REASONS[reason] ?? plain(reason)}` : "";
  const rest = (but: (effect: readonly [string, number]) => boolean): string => effects.filter((one) => !but(one)).map((one) => effect(world, one)).join(", ");
  if (action === "Move") {
    const way = result.direction >= 0 ? WAYS[result.direction] : "somewhere";
    return [failed ? `can't go ${way}${failed}` : `goes ${way}`, rest(() => false)];
  }
  const [done, not] = VERBS[action] ?? [action, `can't ${action}`];
  if (failed) return [`${not}${to ? ` ${to}` : ""}${failed}`, ""];
  const [gained, lost] = [carried(world, effects, true), carried(world, effects, false)];
  const at = to ? ` at ${to}` : "";
  const gains = ([name, value]: readonly [string, number]): boolean => name.startsWith(ITEM) && value > 0;
  const losses = ([name, value]: readonly [string, number]): boolean => name.startsWith(ITEM) && value < 0;
  if (action === "Pickup" && gained) return [`gathers ${gained}${at}`, rest(gains)];
  if (action === "Buy" && gained) return [`buys ${gained}${at}`, rest(gains)];
  if (action === "Sell" && lost) return [`sells ${lost}${at}`, rest(losses)];
  if (action === "Take" && gained) return [`takes ${gained}${to ? ` from ${to}` : ""}`, rest(gains)];
  if (action === "Put" && lost) return [`puts ${lost}${to ? ` into ${to}` : ""}`, rest(losses)];
  if (action === "Give" && lost) return [`gives ${lost}${to ? ` to ${to}` : ""}`, rest(losses)];
  if (action === "Drop" && lost) return [`puts down ${lost}`, rest(losses)];
  if (action === "Use" && lost) {
    const eats = effects.some(([name, value]) => name === "hunger" && value < 0);
    return [`${eats ? "eats" : "uses"} ${lost}`, rest(losses)];
  }
  if (action === "Interact" && gained) return [`makes ${gained}${at}`, rest(gains)];
  return [`${done}${to ? ` ${to}` : action === "Use" ? " something" : ""}`, rest(() => false)];
}

const DEALS: Record<string, string> = { offers: "offers", wants: "wants", missing: "lacks" };

/** "+1 berries", "-2 coins", "hunger -15 %", "work left: 2". */
export function effect(world: World, [name, value]: readonly [string, number]): string {
  const sign = value > 0 ? "+" : "";
  const [what, item] = name.split(".", 2);
  if (name.startsWith(ITEM)) return `${sign}${counted(world, item, value)}`;
  if (item && what in DEALS) return `${DEALS[what]} ${items(world, item, value)}`;
  if (name === "work_remaining") return value ? `work left: ${value}` : "done";
  const isNeed = name === "energy" || name === "hunger" || world.info.own_needs?.includes(name);
  return `${plain(name)} ${sign}${isNeed ? percent(value) : value}`;
}

const MOST_NAMES = 5;

/** "reached both out with tomas: +10 each; the run is over", after the name of the first actor, if there is one. */
export function ruleNews(
  world: World,
  name: string,
  who: string[],
  score: number,
  ends: boolean,
  own: boolean,
  text: string,
  effects: [string, number][],
): string {
  const more = who.length > MOST_NAMES ? ` and ${who.length - MOST_NAMES} more` : "";
  const others = who.length > 1 ? ` with ${who.slice(1, MOST_NAMES).join(", ")}${more}` : "";
  const goal = who.length ? `reached ${plain(name)}${others}` : `goal reached: ${plain(name)}`;
  const items = `${plain(name)}${others}`; // a rule of the world changed what they carry
  const words = own ? `${plain(name)}: ${text || "items"}` : effects.length ? items : goal;
  const points = score ? [`${score > 0 ? "+" : ""}${score}${who.length > 1 ? " each" : ""}`] : [];
  const gains = [...points, ...effects.map((one) => effect(world, one))].join(", ");
  return words + (gains ? ` (${gains})` : "") + (ends ? "; the run is over" : "");
}

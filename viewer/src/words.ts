/** How numbers and codes are put into words. */

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

/** What an actor did, as a sentence's end: "goes north-east", "tries to go west: swap". */
export function deed(world: World, result: Result, target = ""): string {
  const action = world.info.actions[result.action] ?? "?";
  const on = target ? ` ${target}` : "";
  const failed = result.reason ? `: ${plain(world.info.reasons[result.reason] ?? "?")}` : "";
  if (action === "Move") {
    const way = result.direction >= 0 ? WAYS[result.direction] : "somewhere";
    return failed ? `can't go ${way}${failed}` : `goes ${way}`;
  }
  const verbs: Record<string, [string, string]> = {
    Wait: ["waits", "can't wait"],
    Pickup: ["picks up", "can't pick up"],
    Use: ["uses something", "can't use it"],
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
  const [done, not] = verbs[action] ?? [action, `can't ${action}`];
  return `${failed ? not : done}${on}${failed}`;
}

/** "+1 berries", "hunger -150", "work left 2". */
export function effect([name, value]: [string, number]): string {
  if (name.startsWith("inventory.")) return `${value > 0 ? "+" : ""}${value} ${name.slice("inventory.".length)}`;
  if (name === "work_remaining") return value ? `work left: ${value}` : "done";
  return `${plain(name)} ${value > 0 ? "+" : ""}${value}`;
}

const MOST_NAMES = 5;

/** "reached both out with tomas: +10 each; the run is over", after the name of the first actor, if there is one. */
export function ruleNews(
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
  const gains = [...points, ...effects.map(effect)].join(", ");
  return words + (gains ? ` (${gains})` : "") + (ends ? "; the run is over" : "");
}

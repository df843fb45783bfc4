/** What the address keeps: the tick, the character, the panel and the filters of the log. */

export const TABS = ["inspector", "log", "talk", "charts", "runs"] as const;
export type Tab = (typeof TABS)[number];

export const EVENT_TYPES = ["speech", "action", "failure", "object", "thought", "control", "goal"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Filters {
  types: EventType[]; // none means all
  actor: string; // part of an id
  region: Region | null;
}

export interface Address {
  tick: number | null;
  actor: string;
  tab: Tab | null;
  filters: Filters;
}

export function readHash(hash: string): Address {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const tick = given.get("tick");
  const region = (given.get("region") ?? "").split(",").map(Number);
  const tab = given.get("tab") as Tab | null;
  return {
    tick: tick !== null && /^\d{1,15}$/.test(tick) ? Number(tick) : null,
    actor: given.get("actor") ?? "",
    tab: tab && TABS.includes(tab) ? tab : null,
    filters: {
      types: (given.get("types") ?? "").split(",").filter((type): type is EventType => EVENT_TYPES.includes(type as EventType)),
      actor: given.get("who") ?? "",
      region:
        region.length === 4 && region.every(Number.isInteger)
          ? { left: region[0], top: region[1], right: region[2], bottom: region[3] }
          : null,
    },
  };
}

export function writeHash({ tick, actor, tab, filters }: Address): string {
  const kept = new URLSearchParams();
  if (tick !== null) kept.set("tick", String(tick));
  if (actor) kept.set("actor", actor);
  if (tab && tab !== "log") kept.set("tab", tab);
  if (filters.types.length) kept.set("types", filters.types.join(","));
  if (filters.actor) kept.set("who", filters.actor);
  if (filters.region) {
    const { left, top, right, bottom } = filters.region;
    kept.set("region", [left, top, right, bottom].join(","));
  }
  const text = kept.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return text ? `#${text}` : "";
}

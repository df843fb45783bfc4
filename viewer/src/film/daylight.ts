/** The clock and the light of the day, by the calendar of the world. */

import { DAY_MINUTES } from "../codes";
import type { Calendar, Festival, Season } from "../frames/world";

/** Hour of the day -> red, green, blue that everything is multiplied with. */
const LIGHT: [hour: number, red: number, green: number, blue: number][] = [
  [0, 0.46, 0.52, 0.78],
  [4.5, 0.48, 0.54, 0.78],
  [6, 0.86, 0.74, 0.74],
  [7.5, 1, 0.96, 0.9],
  [10, 1, 1, 1],
  [16.5, 1, 1, 1],
  [18.5, 1, 0.87, 0.72],
  [20, 0.72, 0.62, 0.74],
  [21.5, 0.5, 0.55, 0.78],
  [24, 0.46, 0.52, 0.78],
];

/** Minutes since the beginning of the first day. */
function minutesAt(calendar: Calendar, tick: number): number {
  return calendar.first_minute + Math.floor((tick * DAY_MINUTES) / calendar.day_ticks);
}

export function hourOf(calendar: Calendar, tick: number): number {
  return (minutesAt(calendar, tick) % DAY_MINUTES) / 60;
}

/** The time as a clock shows it: "Day 2, 14:05". */
export function clockOf(calendar: Calendar, tick: number): string {
  const minutes = minutesAt(calendar, tick);
  const [hour, minute] = [Math.floor((minutes % DAY_MINUTES) / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `Day ${Math.floor(minutes / DAY_MINUTES) + 1}, ${hour}:${minute}`;
}

/** Mixes a number of 32 bits, as `CalendarInfo` does. */
function mixed(value: number): number {
  let mix = value >>> 0;
  mix = Math.imul(mix ^ (mix >>> 16), 0x7feb352d);
  mix = Math.imul(mix ^ (mix >>> 15), 0x846ca68b);
  return (mix ^ (mix >>> 16)) >>> 0;
}

function seasonOf(calendar: Calendar, day: number): Season | undefined {
  const seasons = calendar.seasons ?? [];
  let left = (day - 1) % seasons.reduce((sum, season) => sum + season.days, 0);
  return seasons.find((season) => (left -= season.days) < 0);
}

function weatherOf(calendar: Calendar, day: number): string {
  const own = seasonOf(calendar, day)?.weather ?? [];
  const weights = own.length ? own : (calendar.weather ?? []);
  const sum = weights.reduce((all, [, weight]) => all + weight, 0);
  let left = mixed((calendar.weather_key ?? 0) ^ mixed(day)) % sum;
  return weights.find(([, weight]) => (left -= weight) < 0)?.[0] ?? "";
}

function isBetween(minute: number, [first, end]: [number, number]): boolean {
  return first <= end ? first <= minute && minute < end : minute >= first || minute < end;
}

function isOn(festival: Festival, day: number, minute: number): boolean {
  const begins = (on: number): boolean => on === festival.day || (festival.every > 0 && on > festival.day && (on - festival.day) % festival.every === 0);
  const [first, end] = festival.hours ?? [0, DAY_MINUTES];
  if (first < end) return first <= minute && minute < end && begins(day);
  return (minute >= first && begins(day)) || (minute < end && begins(day - 1));
}

/** Night, season, weather and festivals: "summer, rain, harvest"; empty if the world has none. */
export function daysOf(calendar: Calendar, tick: number): string {
  const minutes = minutesAt(calendar, tick);
  const [day, minute] = [Math.floor(minutes / DAY_MINUTES) + 1, minutes % DAY_MINUTES];
  const festivals = (calendar.festivals ?? []).filter((festival) => isOn(festival, day, minute));
  const night = calendar.night && isBetween(minute, calendar.night) ? "night" : "";
  const words = [night, seasonOf(calendar, day)?.name ?? "", weatherOf(calendar, day), ...festivals.map((festival) => festival.name)];
  return words.filter(Boolean).join(", ").replaceAll("_", " ");
}

export function lightAt(calendar: Calendar, tick: number): [number, number, number] {
  const hour = hourOf(calendar, tick);
  const next = LIGHT.findIndex(([at]) => at > hour);
  const [from, to] = [LIGHT[next - 1], LIGHT[next]];
  const share = (hour - from[0]) / (to[0] - from[0]);
  return [1, 2, 3].map((at) => from[at] + (to[at] - from[at]) * share) as [number, number, number];
}

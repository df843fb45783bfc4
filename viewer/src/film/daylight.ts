/** The light of the day, by the time in the world. */

/** One day in the world; the first one begins at seven in the morning. */
export const DAY_MS = 600_000;
const START_H = 7;

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

export function hourOf(timeMs: number): number {
  return ((timeMs / DAY_MS) * 24 + START_H) % 24;
}

/** The time as a clock shows it: "Day 2, 14:05". */
export function clockOf(timeMs: number): string {
  const hour = hourOf(timeMs);
  const day = Math.floor(timeMs / DAY_MS + START_H / 24) + 1;
  const minutes = Math.floor((hour % 1) * 60);
  return `Day ${day}, ${String(Math.floor(hour)).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
}

export function lightAt(timeMs: number): [number, number, number] {
  const hour = hourOf(timeMs);
  const next = LIGHT.findIndex(([at]) => at > hour);
  const [from, to] = [LIGHT[next - 1], LIGHT[next]];
  const share = (hour - from[0]) / (to[0] - from[0]);
  return [1, 2, 3].map((at) => from[at] + (to[at] - from[at]) * share) as [number, number, number];
}

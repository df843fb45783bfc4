/** Finds characters by what somebody types of their names. */

import type { World } from "./frames/world";

/** The characters whose name has a text in it: first the one of that very name, then those whose names begin with it. */
export function findActors(world: World, text: string, most: number): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const same: number[] = [];
  const begin: number[] = [];
  const other: number[] = [];
  for (let row = 0; row < world.actors; row += 1) {
    const names = [world.nameOf(row), world.actorIds[row]].map((one) => one.toLowerCase());
    const name = names.find((one) => one.includes(wanted));
    if (name === undefined) continue;
    const at = name.indexOf(wanted);
    const found = at > 0 ? other : name.length === wanted.length ? same : begin;
    if (found.length < most) found.push(row);
  }
  return [...same, ...begin, ...other].slice(0, most);
}

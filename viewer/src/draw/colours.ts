/** Colours that belong to somebody: the same id has the same ones everywhere, always. */

export type Rgb = [red: number, green: number, blue: number]; // 0 to 255

/** A number from a text that looks random and never changes (FNV-1a). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash ^= text.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash >>> 0;
}

/** A number from a place, from 0 to 1. */
export function chanceAt(x: number, y: number, salt = 0): number {
  let hash = Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1) ^ Math.imul(salt + 1, 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 0xffffffff;
}

export function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const part = (offset: number) => {
    const at = (offset + hue * 12) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [part(0), part(8), part(4)];
}

export const css = ([red, green, blue]: Rgb, alpha = 1): string => `rgb(${red} ${green} ${blue} / ${alpha})`;

const chosen = new Map<string, Rgb>(); // id -> the colour that its world gives it

/** Gives a character the colour that its world says, as #rrggbb. */
export function chooseShirt(id: string, colour: string): void {
  const value = parseInt(colour.slice(1), 16);
  if (/^#[0-9a-f]{6}$/i.test(colour)) chosen.set(id, [value >> 16, (value >> 8) & 255, value & 255]);
}

const HUES: [word: RegExp, hue: number][] = [
  [/\bred\b/, 0],
  [/\borange\b/, 0.07],
  [/\b(yellow|gold)\b/, 0.13],
  [/\bgreen\b/, 0.34],
  [/\bblue\b/, 0.6],
  [/\b(purple|violet)\b/, 0.76],
];

const wordHue = (name: string): number | undefined => HUES.find(([word]) => word.test(name.toLowerCase().replaceAll("_", " ")))?.[1];

/** The hue that something is called by, as `red_home`; else one that only its name has. */
export const hueOf = (name: string): number => wordHue(name) ?? (hashOf(name) % 360) / 360;

/** Gives a member of a team its team's hue; a type of characters that is called by a colour is a team as well. */
export function chooseTeam(id: string, team: string, type: string): void {
  const name = team || (wordHue(type) === undefined ? "" : type);
  if (name) chosen.set(id, fromHsl(hueOf(name), 0.62, 0.4 + (hashOf(id) % 4) * 0.05));
}

/** The colour of somebody's shirt, by which it is known on the map, in lists and in charts. */
export function shirtOf(id: string): Rgb {
  const own = chosen.get(id);
  if (own) return own;
  const hash = hashOf(id);
  const hue = ((hash % 997) / 997 + 0.02) % 1;
  return fromHsl(hue, 0.5 + ((hash >>> 10) % 5) * 0.07, 0.44 + ((hash >>> 14) % 4) * 0.05);
}

export const HAIRS: Rgb[] = [
  [58, 42, 34],
  [28, 26, 30],
  [112, 70, 38],
  [186, 136, 62],
  [150, 60, 34],
  [176, 172, 168],
];

export const SKINS: Rgb[] = [
  [247, 214, 186],
  [236, 188, 150],
  [214, 158, 114],
  [176, 118, 78],
  [134, 86, 58],
  [98, 64, 46],
];

export function hairOf(id: string): number {
  return (hashOf(id) >>> 18) % HAIRS.length;
}

export function skinOf(id: string): number {
  return (hashOf(id) >>> 22) % SKINS.length;
}

/** Frames that tests make themselves. */

import { Frame } from "../src/frames/layout";

/** A frame with these sections of JSON. */
export function made(kind: number, tick: number, told: Record<number, unknown> = {}): Frame {
  const parts = Object.entries(told).map(([tag, value]) => [Number(tag), new TextEncoder().encode(JSON.stringify(value))] as const);
  const bytes = new Uint8Array(parts.reduce((sum, [, part]) => sum + part.length, 0));
  const sections = new Map<number, [number, number]>();
  let at = 0;
  for (const [tag, part] of parts) {
    bytes.set(part, at);
    sections.set(tag, [at, part.length]);
    at += part.length;
  }
  return new Frame(kind, tick, 0, 24 + at, bytes.buffer, sections);
}

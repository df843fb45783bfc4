/** Reads the JSON form of the schema's messages: what is left out gets its first value, and numbers become numbers. */

import { FIELDS, FIRST_VALUES } from "./protocol.js";
import type { SocketRequest } from "./protocol.js";

type Json = Record<string, unknown>;

/** Return a message with all of its fields. Fields that this version does not know are dropped. */
export function readMessage<T>(name: string, json: unknown): T {
  const given: Json = typeof json === "object" && json !== null ? (json as Json) : {};
  const message: Json = {};
  for (const [field, kind] of Object.entries(FIELDS[name] ?? {})) {
    const value = given[field];
    const left = value === undefined || value === null;
    if (kind.startsWith("*")) {
      message[field] = left ? [] : (value as unknown[]).map((each) => readValue(kind.slice(1), each));
    } else if (kind.startsWith("?")) {
      if (!left) message[field] = readValue(kind.slice(1), value);
    } else {
      message[field] = readValue(kind, value ?? undefined);
    }
  }
  return message as T;
}

/** Return the text of a frame. Bytes are written in base64. */
export function writeMessage(frame: SocketRequest | Json): string {
  return JSON.stringify(frame, (_key, value: unknown) => (value instanceof Uint8Array ? toBase64(value) : value));
}

function readValue(kind: string, value: unknown): unknown {
  switch (kind) {
    case "s":
      return value ?? "";
    case "f":
      return value ?? false;
    case "i":
    case "r":
      return Number(value ?? 0); // numbers of 64 bits are texts in this form
    case "b":
      return fromBase64((value as string | undefined) ?? "");
  }
  return kind.startsWith("e") ? (value ?? FIRST_VALUES[kind.slice(1)]) : readMessage(kind, value);
}

function fromBase64(text: string): Uint8Array {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

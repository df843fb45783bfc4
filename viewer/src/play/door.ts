/** The connection over which a person plays: frames of JSON through a WebSocket of the page's own server. */

import { PATH, PROTOCOL } from "../codes";
import type { Intent } from "./frames";

/** What the game needs of a WebSocket; tests bring their own. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
}

export type Dial = () => Socket;

export interface Opening {
  entityId: string;
  controllerId: string;
  previous: string; // the secret of the lease before, or ""
  token: string;
}

/** What comes down, of which exactly one is there. */
export type Down =
  | { kind: "opened"; secret: string; ttlMs: number; body: unknown }
  | { kind: "observation"; body: unknown }
  | { kind: "ack"; tick: number; accepted: boolean; reason: string }
  | { kind: "closed"; reason: string; retryMs: number }
  | { kind: "error"; message: string; code: string; ends: boolean };

type Json = Record<string, unknown>;

const frame = (control: Json, more: Json = {}): string => JSON.stringify({ control, ...more });

export function openFrame({ entityId, controllerId, previous, token }: Opening): string {
  const open = { entityId, controllerId, play: true, ...(previous ? { previousLeaseId: previous } : {}) };
  return frame({ open }, token ? { token } : {});
}

export const intentFrame = (tick: number, intent: Intent): string => frame({ intent: { tickId: String(tick), intent } });
export const aliveFrame = (): string => frame({ keepAlive: {} });
export const releaseFrame = (): string => frame({ release: {} });

const words = (value: unknown, prefix: string): string => String(value ?? "").replace(prefix, "").replace(/^UNSPECIFIED$/, "").toLowerCase();

/** Reads a frame; null for one that says nothing to a player. */
export function readFrame(text: string): Down | null {
  const given = JSON.parse(text) as { control?: Json; error?: Json };
  if (given.error) {
    const { code, message, ends } = given.error;
    return { kind: "error", message: String(message ?? ""), code: words(code, "SOCKET_ERROR_CODE_"), ends: ends === true };
  }
  const control = given.control as Record<string, Json> | undefined;
  if (control?.opened) {
    const lease = (control.opened.lease ?? {}) as Json;
    return { kind: "opened", secret: String(lease.leaseId ?? ""), ttlMs: Number(lease.ttlMs ?? 0), body: control.opened };
  }
  if (control?.observation) return { kind: "observation", body: control.observation };
  if (control?.ack) {
    const ack = (control.ack.ack ?? {}) as Json;
    return { kind: "ack", tick: Number(control.ack.tickId ?? 0), accepted: ack.accepted === true, reason: words(ack.reason, "REASON_") };
  }
  if (control?.closed) {
    return { kind: "closed", reason: words(control.closed.reason, "REASON_"), retryMs: Number(control.closed.retryAfterMs ?? 0) };
  }
  return null;
}

/** Opens a WebSocket of the page's own origin. */
export function dialHere(base = ""): Dial {
  return () => {
    const url = new URL(`${base}/${PATH}`, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return new WebSocket(url, PROTOCOL) as unknown as Socket;
  };
}

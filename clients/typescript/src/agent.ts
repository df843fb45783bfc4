/** `Agent`: keeps one character under control, over as many connections as it takes. */

import { Backoff } from "./backoff.js";
import { ControlLostError, RefusedError } from "./errors.js";
import { readMessage, writeMessage } from "./json.js";
import type { ControlOpened, ControlResponse, Intent, Observation, Reason, SocketError, SocketResponse } from "./protocol.js";
import { openSocket } from "./open_socket.js";
import { JSON_SUBPROTOCOL } from "./socket.js";
import type { Socket, SocketFactory } from "./socket.js";

const LOOKS = 3; // keep-alives in the lifetime of a lease
const LONGEST_WAIT_MS = 10_000; // for a lease that another controller holds
const RELEASE_MS = 2000; // for the world's answer when the character is given back
const FATAL_ERRORS = ["SOCKET_ERROR_CODE_NOT_ALLOWED", "SOCKET_ERROR_CODE_BAD_FRAME", "SOCKET_ERROR_CODE_REFUSED"];

/** What became of an intent. `CONNECTION_LOST` is no reason of the world's: nobody knows whether it arrived. */
export interface Ack {
  accepted: boolean;
  reason: Reason | "CONNECTION_LOST";
}

/** Keeps the secret of the lease, so that a restarted process takes its character back at once. */
export interface LeaseStore {
  load(): string | undefined | Promise<string | undefined>;
  save(leaseId: string): void | Promise<void>;
  clear(): void | Promise<void>;
}

/** Whether an agent controls its character now. */
export type AgentState = "connecting" | "controlling" | "waiting" | "closed";

/** How to make an agent. */
export interface AgentOptions {
  /** The world's WebSocket, such as ws://127.0.0.1:8701/ws/v1. */
  url: string;
  /** The character. */
  entityId: string;
  /** The agent's name for itself; `agent:` and the character's id if it is left out. */
  controllerId?: string;
  /** The world's token, if it requires one. */
  token?: string;
  /** Whether observations have the floors of the tiles. */
  wantFloors?: boolean;
  leaseStore?: LeaseStore;
  backoff?: Backoff;
  /** Opens a WebSocket; the platform's own if it is left out. */
  openSocket?: SocketFactory;
  /** Called at each change of state, with the reason for people. */
  onState?: (state: AgentState, why: string) => void;
}

/**
 * Controls one character: it takes the lease and keeps it, connects again after breaks, and takes the character back.
 *
 *     const agent = new Agent({ url, entityId: "entity:1" });
 *     for await (const observation of agent.observations()) {
 *       const ack = await agent.act({ move: { direction: "DIRECTION_N" } });
 *     }
 */
export class Agent {
  #options: AgentOptions;
  #controllerId: string;
  #backoff: Backoff;
  #state: AgentState = "connecting";
  #socket: Socket | undefined;
  #opened: ControlOpened | undefined;
  #leaseId: string | undefined;
  #newest: Observation | undefined;
  #tickId = 0;
  #acks: ((ack: Ack) => void)[] = []; // in the order of the intents
  #wake: () => void = () => {};
  #failure: Error | undefined;
  #started = false;
  #interrupt: () => void = () => {}; // ends a wait between two tries
  #closed: () => void = () => {}; // the connection is over
  #closing: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#controllerId = options.controllerId ?? `agent:${options.entityId}`;
    this.#backoff = options.backoff ?? new Backoff();
  }

  /** Whether the character is under control now. */
  get state(): AgentState {
    return this.#state;
  }

  /** What the world said when it gave control; undefined before that. The lease's secret is in it. */
  get opened(): ControlOpened | undefined {
    return this.#opened;
  }

  /**
   * Iterate over observations, always the newest, until `close`. Connecting begins with it.
   *
   * Raises `ControlLostError` or `RefusedError` if the character can't be had again.
   */
  async *observations(): AsyncGenerator<Observation, void, undefined> {
    if (!this.#started) {
      this.#started = true;
      void this.#stay();
    }
    for (;;) {
      const newest = this.#newest;
      this.#newest = undefined;
      if (newest) {
        this.#tickId = newest.tickId;
        yield newest;
      } else if (this.#failure) {
        throw this.#failure;
      } else if (this.#state === "closed") {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Send the intent for the observation that was iterated last, or for a tick; return what the world says to it. */
  act(intent: Intent, tickId: number = this.#tickId): Promise<Ack> {
    const socket = this.#socket;
    if (!socket || this.#state !== "controlling") {
      return Promise.resolve({ accepted: false, reason: "CONNECTION_LOST" });
    }
    return new Promise((resolve) => {
      this.#acks.push(resolve);
      socket.send(writeMessage({ control: { intent: { tickId, intent } } }));
    });
  }

  /** Give the character back, and end the connection and the iteration. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const controlled = this.#state === "controlling";
    this.#change("closed", "closed by the agent");
    this.#interrupt();
    const socket = this.#socket;
    if (socket && controlled) {
      const gone = new Promise<void>((resolve) => {
        this.#closed = resolve;
      });
      socket.send(writeMessage({ control: { release: {} } }));
      await within(gone, RELEASE_MS);
      await this.#options.leaseStore?.clear();
    }
    socket?.close();
    this.#wake();
  }

  /** Hold control, and take it again after a break. */
  async #stay(): Promise<void> {
    let failures = 0;
    try {
      this.#leaseId = await this.#options.leaseStore?.load();
      while (this.#state !== "closed") {
        const before = this.#opened;
        const wait = await this.#connectOnce();
        failures = this.#opened === before ? failures + 1 : 0;
        if (this.#ended()) return;
        this.#change("waiting", wait.why);
        const leastMs = Math.min(wait.retryAfterMs, LONGEST_WAIT_MS);
        await within(this.#interrupted(), leastMs + this.#backoff.waitMs(leastMs ? 0 : failures));
      }
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#change("closed", this.#failure.message);
      this.#socket?.close();
      this.#wake();
    }
  }

  /** One connection, from its opening to its end. Throws if another one would fare no better. */
  async #connectOnce(): Promise<{ why: string; retryAfterMs: number }> {
    this.#change("connecting", "");
    const open = this.#options.openSocket ?? openSocket;
    const socket = await open(this.#options.url, JSON_SUBPROTOCOL);
    if (this.#ended()) {
      socket.close(); // closed meanwhile: it must not take the character
      return { why: "", retryAfterMs: 0 };
    }
    let keepAlive: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise((resolve, reject) => {
        let end = { why: `no connection to ${this.#options.url}`, retryAfterMs: 0 };
        this.#socket = socket;
        socket.onopen = () => socket.send(this.#opening());
        socket.onerror = () => {};
        socket.onclose = () => resolve(end);
        socket.onmessage = (event) => {
          try {
            const frame = readMessage<SocketResponse>("SocketResponse", JSON.parse(String(event.data)));
            if (frame.error) end = this.#err(frame.error);
            const taken = frame.control ? this.#take(frame.control) : undefined;
            if (taken?.opened) {
              const beat = writeMessage({ control: { keepAlive: {} } });
              keepAlive = setInterval(() => socket.send(beat), (taken.opened.lease?.ttlMs ?? 10_000) / LOOKS);
            }
            if (taken?.end) {
              end = taken.end;
              socket.close();
            }
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        };
      });
    } finally {
      clearInterval(keepAlive);
      this.#socket = undefined;
      this.#newest = undefined; // it is of a tick that will be over
      this.#lose();
      this.#closed();
    }
  }

  #opening(): string {
    const { entityId, token, wantFloors } = this.#options;
    const open = {
      entityId,
      controllerId: this.#controllerId,
      ...(this.#leaseId ? { previousLeaseId: this.#leaseId } : {}),
      ...(wantFloors ? { wantFloors } : {}),
    };
    return writeMessage({ control: { open }, ...(token ? { token } : {}) });
  }

  #take(frame: ControlResponse): { opened?: ControlOpened; end?: { why: string; retryAfterMs: number } } {
    if (frame.opened) {
      this.#opened = frame.opened;
      this.#leaseId = frame.opened.lease?.leaseId;
      if (this.#leaseId) void this.#options.leaseStore?.save(this.#leaseId);
      this.#change("controlling", "");
      return { opened: frame.opened };
    }
    if (frame.observation) {
      this.#newest = frame.observation;
      this.#wake();
    } else if (frame.ack) {
      const ack = frame.ack.ack;
      this.#acks.shift()?.({ accepted: ack?.accepted ?? false, reason: ack?.reason ?? "REASON_UNSPECIFIED" });
    } else if (frame.closed) {
      const { reason, retryAfterMs } = frame.closed;
      if (reason === "REASON_UNKNOWN_ENTITY") {
        throw new RefusedError(`the world has no entity ${this.#options.entityId}; choose one that it has`);
      }
      if (reason === "REASON_INVALID_LEASE" && this.#state === "controlling") {
        throw new ControlLostError("another process has taken control, so this one ends");
      }
      return { end: { why: `the world ended control: ${reason}`, retryAfterMs } };
    }
    return {};
  }

  #err(error: SocketError): { why: string; retryAfterMs: number } {
    if (FATAL_ERRORS.includes(error.code)) throw new RefusedError(error.message);
    return { why: error.message, retryAfterMs: error.retryAfterMs };
  }

  #lose(): void {
    for (const resolve of this.#acks.splice(0)) resolve({ accepted: false, reason: "CONNECTION_LOST" });
  }

  #change(state: AgentState, why: string): void {
    if (state === this.#state || this.#state === "closed") return;
    this.#state = state;
    this.#options.onState?.(state, why);
  }

  #ended(): boolean {
    return this.#state === "closed";
  }

  #interrupted(): Promise<void> {
    return new Promise((resolve) => {
      this.#interrupt = resolve;
    });
  }
}

/** Wait for something, but no longer than this. */
async function within(event: Promise<void>, mostMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, mostMs);
  });
  await Promise.race([event, over]);
  clearTimeout(timer);
}

/** Where frames come from: the viewer's server, or the page itself if it is a clip. */

import { unpack, type Frame } from "../frames/layout";
import { NOTHING, type MindReport, type WholeMind } from "../frames/mind";
import type { Thought } from "../frames/notes";
import { LabDoor } from "../lab/door";
import { dialHere, type Dial } from "../play/door";

export interface Span {
  run_id: string; // which run these ticks are of; empty while nobody knows
  first: number;
  last: number;
  growing: boolean;
  connected: boolean;
  live: boolean;
  play?: boolean; // whether visitors may take characters
  awaits?: string; // what is said until the first answer of a model
  lab?: boolean; // whether visitors may branch runs and ask their characters
}

export interface Digest {
  first: number;
  step: number;
  ticks: number;
  columns: Record<string, number[]>;
}

/** A sentence of a chronicle, and where it is to be seen. */
export interface StorySentence {
  text: string;
  tick_id: number;
  clock: string;
  kind: string;
  people: string[]; // ids
}

export interface Story {
  first_tick_id: number;
  last_tick_id: number;
  days: { day: number; about: string; parts: { part: string; sentences: StorySentence[] }[]; left_out: number }[];
  ending: string[];
}

export interface Source {
  hello(): Promise<Frame>;
  span(): Promise<Span>;
  window(first: number, last: number, signal?: AbortSignal): Promise<Frame[]>;
  /** The frames that show a tick soonest; what led to it comes with its window. */
  state(tick: number): Promise<Frame[]>;
  digest(): Promise<Digest>;
  thoughts(actor: number, last: number, count: number): Promise<Thought[]>;
  /** What is known of a character's mind and needs at a tick. */
  mind(actor: number, last: number): Promise<MindReport>;
  /** A mind after a tick, lived again from the record; missing where there is no server that could. */
  wholeMind?(actor: number, tick: number, signal: AbortSignal): Promise<WholeMind>;
  /** The run as a chronicle, made from its record; missing where there is no server. */
  story?(signal: AbortSignal): Promise<Story>;
  /** Calls back with each new frame until the returned function is called. */
  watch(onFrame: (frame: Frame) => void, onState: (connected: boolean) => void): () => void;
  /** Where persons play; missing where there is no server. */
  readonly door?: { dial: Dial; token: string };
  /** What can be done with recorded runs; missing where there is no server. */
  readonly lab?: LabDoor;
}

/** The server requires a token. */
export class TokenNeeded extends Error {}

const TOKEN_KEY = "tickmind-viewer-token";
const RETRY_MS = [250, 500, 1000, 2000, 4000];

export class HttpSource implements Source {
  private token = sessionStorage.getItem(TOKEN_KEY) ?? "";

  readonly lab = new LabDoor((path, init) => this.request(path, init));

  constructor(private readonly base = "") {}

  /** What a game needs to know of the server: how to connect, and with which token. */
  get door(): { dial: Dial; token: string } {
    return { dial: dialHere(this.base), token: this.token };
  }

  setToken(token: string): void {
    this.token = token;
    if (token) sessionStorage.setItem(TOKEN_KEY, token);
    else sessionStorage.removeItem(TOKEN_KEY);
  }

  private get(path: string, signal?: AbortSignal): Promise<Response> {
    return this.request(path, { signal });
  }

  private async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.token) headers.set("Authorization", `Bearer ${this.token}`);
    const answer = await fetch(`${this.base}/api/${path}`, { ...init, headers });
    if (answer.status === 401) throw new TokenNeeded("this viewer requires a token");
    if (!answer.ok) {
      const told = (await answer.json().catch(() => ({}))) as { error?: string };
      throw new Error(told.error ?? `the viewer's server answered ${answer.status}`);
    }
    return answer;
  }

  async hello(): Promise<Frame> {
    return unpack(await (await this.get("hello")).arrayBuffer())[0];
  }

  async span(): Promise<Span> {
    return (await this.get("span")).json();
  }

  async window(first: number, last: number, signal?: AbortSignal): Promise<Frame[]> {
    return unpack(await (await this.get(`window?first=${first}&last=${last}`, signal)).arrayBuffer());
  }

  async state(tick: number): Promise<Frame[]> {
    return unpack(await (await this.get(`state?tick=${tick}`)).arrayBuffer());
  }

  async digest(): Promise<Digest> {
    return (await this.get("digest")).json();
  }

  async thoughts(actor: number, last: number, count: number): Promise<Thought[]> {
    return (await this.get(`thoughts?actor=${actor}&last=${last}&count=${count}`)).json();
  }

  async mind(actor: number, last: number): Promise<MindReport> {
    return (await this.get(`mind?actor=${actor}&last=${last}`)).json();
  }

  async wholeMind(actor: number, tick: number, signal: AbortSignal): Promise<WholeMind> {
    return (await this.get(`whole-mind?actor=${actor}&tick=${tick}`, signal)).json();
  }

  async story(signal: AbortSignal): Promise<Story> {
    return (await this.get("story", signal)).json();
  }

  watch(onFrame: (frame: Frame) => void, onState: (connected: boolean) => void): () => void {
    let socket: WebSocket | null = null;
    let timer = 0;
    let failures = 0;
    let stopped = false;
    const open = () => {
      const url = new URL(`${this.base}/live`, location.href);
      url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
      socket = new WebSocket(url);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => socket?.send(this.token);
      socket.onmessage = (event: MessageEvent<ArrayBuffer>) => {
        failures = 0;
        onState(true);
        for (const frame of unpack(event.data)) onFrame(frame);
      };
      socket.onclose = () => {
        onState(false);
        if (stopped) return;
        timer = window.setTimeout(open, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
        failures += 1;
      };
    };
    open();
    return () => {
      stopped = true;
      clearTimeout(timer);
      socket?.close();
    };
  }
}

interface ClipHead {
  span: Span;
  digest: Digest;
  thoughts: Thought[];
  minds: Record<string, MindReport>; // by actor
}

/** A window of ticks that came with the page. */
export class ClipSource implements Source {
  private constructor(
    private readonly head: ClipHead,
    private readonly frames: Frame[],
  ) {}

  /** Reads the clip in this page, if it is one. */
  static async find(): Promise<ClipSource | null> {
    const head = document.getElementById("clip-head")?.textContent;
    const body = document.getElementById("clip-frames")?.textContent;
    if (!head || !body) return null;
    const packed = Uint8Array.from(atob(body.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const frames = unpack(await new Response(stream).arrayBuffer());
    return new ClipSource(JSON.parse(head) as ClipHead, frames);
  }

  async hello(): Promise<Frame> {
    return this.frames[0];
  }

  async span(): Promise<Span> {
    return this.head.span;
  }

  async window(): Promise<Frame[]> {
    return this.frames.slice(1);
  }

  async state(): Promise<Frame[]> {
    return this.frames.slice(1);
  }

  async digest(): Promise<Digest> {
    return this.head.digest;
  }

  async thoughts(actor: number, last: number, count: number): Promise<Thought[]> {
    return this.head.thoughts
      .filter((thought) => thought.row === actor && thought.tick <= last)
      .sort((one, other) => other.tick - one.tick)
      .slice(0, count);
  }

  async mind(actor: number, _last: number): Promise<MindReport> {
    return this.head.minds[actor] ?? NOTHING;
  }

  watch(_onFrame: (frame: Frame) => void, _onState: (connected: boolean) => void): () => void {
    return () => {};
  }
}

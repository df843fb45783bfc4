/**
 * A small WebSocket client (RFC 6455) for Node 20, which has one only behind a flag that agents started by others can't
 * set. Text frames, pings, fragments and closing; no extensions.
 */

import { createHash, randomBytes } from "node:crypto";
import { connect as connectTcp } from "node:net";
import type { Socket as TcpSocket } from "node:net";
import { connect as connectTls } from "node:tls";

import { TickmindError } from "./errors.js";
import type { Socket } from "./socket.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const MOST_BYTES = 16_000_000; // of a message; a world sends none that is longer
const MOST_HEAD_BYTES = 16_384;
const CLOSE_MS = 1000; // for the answer to a close frame
const HANDSHAKE_MS = 10_000; // until the connection is open
const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** One connection. The callbacks are those of a browser's WebSocket. */
export class NodeSocket implements Socket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  #tcp: TcpSocket;
  #key = randomBytes(16).toString("base64");
  #subprotocol: string;
  #received: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = []; // of a message in fragments
  #partsBytes = 0;
  #upgraded = false;
  #closing = false;
  #over = false;
  #handshake: ReturnType<typeof setTimeout>;

  constructor(address: string, subprotocol: string, handshakeMs: number = HANDSHAKE_MS) {
    const url = new URL(address);
    if (url.protocol !== "ws:" && url.protocol !== "wss:") {
      throw new TickmindError(`the address must begin with ws:// or wss://, not ${url.protocol}//`);
    }
    const secure = url.protocol === "wss:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port || (secure ? 443 : 80));
    this.#subprotocol = subprotocol;
    const begin = (): void => this.#ask(url);
    this.#tcp = secure ? connectTls({ host, port, servername: host }, begin) : connectTcp({ host, port }, begin);
    this.#handshake = setTimeout(() => this.#fail(), handshakeMs);
    this.#tcp.setNoDelay(true);
    this.#tcp.on("data", (data: Buffer) => this.#take(data));
    this.#tcp.on("error", () => this.#end(true));
    this.#tcp.on("close", () => this.#end(!this.#closing));
  }

  send(text: string): void {
    if (this.#upgraded && !this.#closing) this.#write(TEXT, Buffer.from(text));
  }

  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    if (!this.#upgraded) {
      this.#tcp.destroy();
      return;
    }
    this.#write(CLOSE, Buffer.from([0x03, 0xe8])); // 1000: as planned
    setTimeout(() => this.#tcp.destroy(), CLOSE_MS).unref();
  }

  #ask(url: URL): void {
    const head = [
      `GET ${url.pathname}${url.search} HTTP/1.1`,
      `Host: ${url.host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${this.#key}`,
      `Sec-WebSocket-Protocol: ${this.#subprotocol}`,
    ];
    this.#tcp.write(`${head.join("\r\n")}\r\n\r\n`);
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length ? Buffer.concat([this.#received, data]) : data;
    if (!this.#upgraded && !this.#upgrade()) return;
    while (!this.#over && this.#takeFrame());
  }

  #upgrade(): boolean {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.#received.length > MOST_HEAD_BYTES) this.#fail();
      return false;
    }
    const [status = "", ...lines] = this.#received.subarray(0, end).toString("latin1").split("\r\n");
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const accept = createHash("sha1").update(this.#key + GUID).digest("base64");
    const good =
      /^HTTP\/1\.1 101\b/.test(status) &&
      headers.get("sec-websocket-accept") === accept &&
      headers.get("sec-websocket-protocol") === this.#subprotocol;
    if (!good) {
      this.#fail();
      return false;
    }
    this.#received = this.#received.subarray(end + 4);
    this.#upgraded = true;
    clearTimeout(this.#handshake);
    this.onopen?.(undefined as never);
    return true;
  }

  /** Take one whole frame; return whether there was one. */
  #takeFrame(): boolean {
    const data = this.#received;
    if (data.length < 2) return false;
    const first = data[0] as number;
    const second = data[1] as number;
    let length = second & 0x7f;
    let at = 2;
    if (length === 126) {
      if (data.length < 4) return false;
      length = data.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (data.length < 10) return false;
      length = Number(data.readBigUInt64BE(2));
      at = 10;
    }
    const opcode = first & 0x0f;
    const whole = (first & 0x80) !== 0;
    const wrong = (first & 0x70) !== 0 || (second & 0x80) !== 0 || (opcode >= CLOSE && (length > 125 || !whole));
    if (wrong || this.#partsBytes + length > MOST_BYTES) {
      this.#fail(); // extensions, masks of a server and endless messages were not agreed
      return false;
    }
    if (data.length < at + length) return false;
    const content = data.subarray(at, at + length);
    this.#received = data.subarray(at + length);
    this.#handle(opcode, whole, content);
    return true;
  }

  #handle(opcode: number, whole: boolean, content: Buffer): void {
    switch (opcode) {
      case PING:
        this.#write(PONG, content);
        return;
      case PONG:
        return;
      case CLOSE:
        if (!this.#closing) this.#write(CLOSE, content.subarray(0, 2));
        this.#closing = true;
        this.#tcp.end();
        return;
      case TEXT:
      case CONTINUATION:
        if ((opcode === TEXT) !== (this.#parts.length === 0)) {
          this.#fail();
          return;
        }
        this.#parts.push(content);
        this.#partsBytes += content.length;
        if (!whole) return;
        {
          const text = Buffer.concat(this.#parts).toString("utf8");
          this.#parts = [];
          this.#partsBytes = 0;
          this.onmessage?.({ data: text });
        }
        return;
      default:
        this.#fail();
    }
  }

  #write(opcode: number, content: Buffer): void {
    const size = content.length;
    const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    if (size < 126) {
      head[1] = 0x80 | size;
    } else if (size < 65_536) {
      head[1] = 0x80 | 126;
      head.writeUInt16BE(size, 2);
    } else {
      head[1] = 0x80 | 127;
      head.writeBigUInt64BE(BigInt(size), 2);
    }
    const mask = randomBytes(4);
    const masked = Buffer.from(content);
    for (let at = 0; at < size; at++) masked[at] = (masked[at] as number) ^ (mask[at & 3] as number);
    this.#tcp.write(Buffer.concat([head, mask, masked]));
  }

  #fail(): void {
    this.#tcp.destroy();
    this.#end(true);
  }

  #end(broken: boolean): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#handshake);
    if (broken) this.onerror?.(undefined as never);
    this.onclose?.(undefined as never);
  }
}

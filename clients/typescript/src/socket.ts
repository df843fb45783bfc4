/** What the client needs of a WebSocket. */

/** The subprotocol whose frames are JSON texts. */
export const JSON_SUBPROTOCOL = "tickmind.v1.json";

/** The part of a browser's WebSocket that the client uses. */
export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}

/** Opens a WebSocket. */
export type SocketFactory = (url: string, subprotocol: string) => Socket | Promise<Socket>;

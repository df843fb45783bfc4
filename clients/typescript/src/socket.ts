/** WebSockets: the platform's own where it has one, else the small client in `node_socket.ts`. */

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

/** Open a WebSocket with what the platform offers. Node has one of its own since version 22. */
export async function openSocket(url: string, subprotocol: string): Promise<Socket> {
  if (typeof globalThis.WebSocket === "function") {
    return new globalThis.WebSocket(url, subprotocol) as unknown as Socket;
  }
  const { NodeSocket } = await import("./node_socket.js");
  return new NodeSocket(url, subprotocol);
}

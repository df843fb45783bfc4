/** WebSockets: the platform's own where it has one, else the small client in `node_socket.ts`. */

import type { Socket } from "./socket.js";

/** Open a WebSocket with what the platform offers. Node has one of its own since version 22. */
export async function openSocket(url: string, subprotocol: string): Promise<Socket> {
  if (typeof globalThis.WebSocket === "function") {
    return new globalThis.WebSocket(url, subprotocol) as unknown as Socket;
  }
  const { NodeSocket } = await import("./node_socket.js");
  return new NodeSocket(url, subprotocol);
}

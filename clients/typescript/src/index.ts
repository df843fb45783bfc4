/** Control a character of a tickmind world over its WebSocket, from a browser or from Node. */

export { Agent } from "./agent.js";
export type { Ack, AgentOptions, AgentState, LeaseStore } from "./agent.js";
export { Backoff } from "./backoff.js";
export { ControlLostError, RefusedError, TickmindError } from "./errors.js";
export { canWalk, isAsleep, STEPS, sees } from "./observation.js";
export { readMessage, writeMessage } from "./json.js";
export type * from "./protocol.js";
export type { Socket, SocketFactory } from "./socket.js";

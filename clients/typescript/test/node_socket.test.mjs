// The small WebSocket of Node 20 against a server of the test.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";

import { NodeSocket } from "../dist/node_socket.js";

test("a server that accepts and says nothing is given up", async () => {
  const server = createServer(() => {});
  await new Promise((wake) => server.listen(0, "127.0.0.1", wake));
  const socket = new NodeSocket(`ws://127.0.0.1:${server.address().port}/ws/v1`, "tickmind.v1.json", 20);
  const seen = [];
  socket.onopen = () => seen.push("open");
  socket.onerror = () => seen.push("error");
  await new Promise((wake) => (socket.onclose = wake));
  assert.deepEqual(seen, ["error"]);
  server.close();
});

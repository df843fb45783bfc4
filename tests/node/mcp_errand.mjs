// The official TypeScript SDK plays a character of a market, from its first look to the bread that it gives away.
// Usage: node mcp_errand.mjs stdio COMMAND ARG... | node mcp_errand.mjs http URL
import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [way, first, ...rest] = process.argv.slice(2);
const transport =
  way === "stdio"
    ? new StdioClientTransport({ command: first, args: rest, env: process.env })
    : new StreamableHTTPClientTransport(new URL(first));
const client = new Client({ name: "errand", version: "1.0.0" });
await client.connect(transport);

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
assert.deepEqual(names, ["look", "remember", "go_to", "say", "use", "trade", "wait_until"]);

// The SDK checks each answer against the tool's schema.
const call = async (name, args = {}) => {
  const reply = await client.callTool({ name, arguments: args });
  assert.ok(!reply.isError, `${name}: ${JSON.stringify(reply.content)}`);
  return reply.structuredContent;
};

assert.deepEqual((await call("look")).state.carries, { coin: 5 });
assert.deepEqual((await call("trade", { action: "buy", item: "bread", amount: 2 })).state.carries, { bread: 2, coin: 1 });
assert.equal((await call("go_to", { target: "bob" })).status, "done");
assert.equal((await call("say", { text: "Good day, bob.", to: "bob" })).status, "done");
const answer = await call("wait_until", { event: "spoken_to", ticks: 20 });
assert.deepEqual(answer.heard.map((line) => line.untrusted_words), ['"Thank you, ann."']);
assert.equal((await call("trade", { action: "give", item: "bread", to: "bob" })).status, "done");
assert.equal((await call("use", { verb: "heat", target: "oven" })).status, "done");
const refused = await client.callTool({ name: "go_to", arguments: { target: "" } });
assert.ok(refused.isError);
await client.close();
console.log("done");

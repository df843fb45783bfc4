// An agent against a socket of the test: breaks, leases, acknowledgements, and its end.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, Backoff, ControlLostError, RefusedError } from "../dist/index.js";

/** The other side of each connection that the agent opens, in their order. */
class World {
  connections = [];
  #waiting = [];

  open = () => {
    const sent = [];
    const waiting = [];
    const socket = {
      send: (text) => {
        sent.push(JSON.parse(text));
        waiting.splice(0).forEach((wake) => wake());
      },
      close: () => queueMicrotask(() => socket.onclose?.()),
    };
    const connection = {
      down: (control) => socket.onmessage({ data: JSON.stringify({ control }) }),
      fail: (error) => socket.onmessage({ data: JSON.stringify({ error }) }),
      cut: () => socket.onclose(),
      up: async () => {
        while (sent.length === 0) await new Promise((wake) => waiting.push(wake));
        return sent.shift();
      },
    };
    setImmediate(() => {
      socket.onopen();
      this.connections.push(connection);
      this.#waiting.splice(0).forEach((wake) => wake());
    });
    return socket;
  };

  async next() {
    while (this.connections.length === 0) await new Promise((wake) => this.#waiting.push(wake));
    return this.connections.shift();
  }
}

const opened = (leaseId) => ({ opened: { lease: { leaseId, entityId: "a", ttlMs: 600_000 } } });
const observed = (tickId) => ({ observation: { tickId: String(tickId), deadlineMs: 500, me: { entityId: "a" } } });
const quick = new Backoff(1, 1, () => 0);

function start(more = {}) {
  const world = new World();
  const agent = new Agent({ url: "ws://world/ws/v1", entityId: "a", openSocket: world.open, backoff: quick, ...more });
  return { world, agent, seen: agent.observations() };
}

test("it opens with its name and token, and gets acknowledgements in the order of its intents", async () => {
  const { world, agent, seen } = start({ token: "a token", controllerId: "me" });
  const first = seen.next();
  const line = await world.next();
  assert.deepEqual(await line.up(), { control: { open: { entityId: "a", controllerId: "me" } }, token: "a token" });
  line.down(opened("one"));
  line.down(observed(7));
  assert.equal((await first).value.tickId, 7);
  const acks = [agent.act({ wait: {} }), agent.act({ sleep: {} }, 8)];
  assert.deepEqual(await line.up(), { control: { intent: { tickId: 7, intent: { wait: {} } } } });
  assert.deepEqual(await line.up(), { control: { intent: { tickId: 8, intent: { sleep: {} } } } });
  line.down({ ack: { tickId: "7", ack: { accepted: true } } });
  line.down({ ack: { tickId: "8", ack: { reason: "REASON_EARLY_TICK" } } });
  assert.deepEqual(await Promise.all(acks), [
    { accepted: true, reason: "REASON_UNSPECIFIED" },
    { accepted: false, reason: "REASON_EARLY_TICK" },
  ]);
});

test("a slow reader gets the newest observation alone", async () => {
  const { world, seen } = start();
  const first = seen.next();
  const line = await world.next();
  line.down(opened("one"));
  line.down(observed(1));
  await first;
  line.down(observed(2));
  line.down(observed(3));
  assert.equal((await seen.next()).value.tickId, 3);
});

test("after a break it takes its character back, and what was not acknowledged is lost", async () => {
  const kept = [];
  const { world, agent, seen } = start({ leaseStore: { load: () => "zero", save: (id) => kept.push(id), clear: () => {} } });
  const first = seen.next();
  const line = await world.next();
  assert.equal((await line.up()).control.open.previousLeaseId, "zero");
  line.down(opened("one"));
  line.down(observed(1));
  await first;
  const ack = agent.act({ wait: {} });
  line.cut();
  assert.deepEqual(await ack, { accepted: false, reason: "CONNECTION_LOST" });
  const next = seen.next();
  const again = await world.next();
  assert.equal((await again.up()).control.open.previousLeaseId, "one");
  again.down(opened("two"));
  again.down(observed(5));
  assert.equal((await next).value.tickId, 5);
  assert.deepEqual(kept, ["one", "two"]);
});

test("a held lease is waited for, and a world that goes is tried again", async () => {
  const why = [];
  const { world, seen } = start({ onState: (state, text) => state === "waiting" && why.push(text) });
  const next = seen.next();
  (await world.next()).down({ closed: { reason: "REASON_LEASE_HELD", retryAfterMs: 1 } });
  const away = await world.next();
  away.fail({ code: "SOCKET_ERROR_CODE_UNREACHABLE", message: "the world is away", ends: true });
  away.cut();
  const line = await world.next();
  line.down(opened("one"));
  line.down(observed(3));
  assert.equal((await next).value.tickId, 3);
  assert.deepEqual(why, ["the world ended control: REASON_LEASE_HELD", "the world is away"]);
});

test("it ends when another process has taken control, and when there is no such entity or token", async () => {
  for (const [end, kind] of [
    [(line) => (line.down(opened("one")), line.down({ closed: { reason: "REASON_INVALID_LEASE" } })), ControlLostError],
    [(line) => line.down({ closed: { reason: "REASON_UNKNOWN_ENTITY" } }), RefusedError],
    [(line) => line.fail({ code: "SOCKET_ERROR_CODE_NOT_ALLOWED", message: "give a token", ends: true }), RefusedError],
  ]) {
    const { world, agent, seen } = start();
    const next = seen.next();
    end(await world.next());
    await assert.rejects(next, kind);
    assert.equal(agent.state, "closed");
  }
});

test("close gives the character back and waits until the connection is over", async () => {
  const { world, agent, seen } = start();
  const next = seen.next();
  const line = await world.next();
  await line.up();
  line.down(opened("one"));
  const closing = agent.close();
  assert.deepEqual(await line.up(), { control: { release: {} } });
  line.down({ closed: {} });
  await closing;
  assert.equal((await next).done, true);
  assert.deepEqual(await agent.act({ wait: {} }), { accepted: false, reason: "CONNECTION_LOST" });
});

test("one that is closed while it connects does not take its character", async () => {
  const sent = [];
  let begin, proceed, over;
  const begun = new Promise((wake) => (begin = wake));
  const closed = new Promise((wake) => (over = wake));
  const open = async () => {
    begin();
    await new Promise((wake) => (proceed = wake));
    const socket = { send: (text) => sent.push(text), close: over };
    setImmediate(() => socket.onopen?.());
    return socket;
  };
  const { agent, seen } = start({ openSocket: open });
  const first = seen.next();
  await begun;
  await agent.close();
  assert.equal((await first).done, true);
  proceed();
  await closed;
  await new Promise(setImmediate);
  assert.deepEqual(sent, []);
});

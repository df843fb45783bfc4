// A whole agent in Node: it goes about at random, greets those whom it meets, and gets up when it has fallen asleep.
// A runner starts it, or by hand: WORLD_WS_URL=ws://127.0.0.1:PORT/ws/v1 ENTITY_ID=entity:1 node examples/node/agent.mjs

import { canWalk, isAsleep, STEPS } from "../../clients/typescript/dist/index.js"; // in a project of yours: @tickmind/client
import { run } from "../../clients/typescript/dist/node.js"; // and @tickmind/client/node

const greeted = new Set();

await run((observation) => {
  const { me, visibleEntities } = observation;
  if (isAsleep(observation)) return { wake: {} };

  const stranger = visibleEntities.find((other) => !greeted.has(other.entityId));
  if (stranger) {
    greeted.add(stranger.entityId);
    return { say: { text: `Hello, ${stranger.entityId}!` } };
  }

  const isFree = ([dx, dy]) =>
    canWalk(observation, me.x + dx, me.y + dy) &&
    !visibleEntities.some((other) => other.x === me.x + dx && other.y === me.y + dy);
  const ways = ["DIRECTION_N", "DIRECTION_E", "DIRECTION_S", "DIRECTION_W"].filter((way) => isFree(STEPS[way]));
  if (ways.length === 0) return { wait: {} };
  return { move: { direction: ways[Math.floor(Math.random() * ways.length)] } };
});

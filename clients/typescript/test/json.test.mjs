// The JSON form is read as Python writes it: the vectors come from there, in the file that CLIENT_VECTORS names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { readMessage, writeMessage } from "../dist/index.js";

const vectors = JSON.parse(readFileSync(process.env.CLIENT_VECTORS, "utf8"));

/** Bytes as base64, so that two messages can be compared. */
const plain = (message) => JSON.parse(writeMessage(message));

test("every message of the vectors is read with all of its fields", () => {
  assert.ok(vectors.length > 50);
  for (const { name, json, whole } of vectors) {
    assert.deepEqual(plain(readMessage(name, JSON.parse(json))), whole, json.slice(0, 300));
  }
});

test("what is written is what Python reads", () => {
  for (const { name, json, short } of vectors) {
    assert.deepEqual(plain(readMessage(name, JSON.parse(writeMessage(JSON.parse(json))))), plain(readMessage(name, short)));
  }
});

test("fields of later versions are dropped, and broken messages are empty ones", () => {
  assert.deepEqual(readMessage("Ack", { accepted: true, later: 1 }), { accepted: true, reason: "REASON_UNSPECIFIED" });
  assert.deepEqual(readMessage("Ack", null), { accepted: false, reason: "REASON_UNSPECIFIED" });
});

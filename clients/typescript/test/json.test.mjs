// The JSON form is read as Python writes it: the vectors come from there, in the file that CLIENT_VECTORS names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { readMessage, writeMessage } from "../dist/index.js";

const vectors = JSON.parse(readFileSync(process.env.CLIENT_VECTORS, "utf8"));

/** Bytes as base64, so that two messages can be compared. */
const plain = (message) => JSON.parse(writeMessage(message));

/** The vector's numbers of 64 bits are texts. */
const agrees = (ours, theirs) => {
  if (typeof theirs !== "object" || theirs === null) {
    return typeof ours === "number" && typeof theirs === "string" ? ours === Number(theirs) : ours === theirs;
  }
  const names = Object.keys(theirs);
  return names.length === Object.keys(ours ?? {}).length && names.every((name) => agrees(ours[name], theirs[name]));
};

test("every message of the vectors is read with all of its fields", () => {
  assert.ok(vectors.length > 50);
  for (const { name, short, whole } of vectors) {
    assert.ok(agrees(plain(readMessage(name, short)), whole), JSON.stringify(short).slice(0, 300));
  }
});

test("what is written is what Python reads", () => {
  for (const { name, short } of vectors) {
    assert.deepEqual(plain(readMessage(name, JSON.parse(writeMessage(short)))), plain(readMessage(name, short)));
  }
});

test("fields of later versions are dropped, and broken messages are empty ones", () => {
  assert.deepEqual(readMessage("Ack", { accepted: true, later: 1 }), { accepted: true, reason: "REASON_UNSPECIFIED" });
  assert.deepEqual(readMessage("Ack", null), { accepted: false, reason: "REASON_UNSPECIFIED" });
});

/** What agents show of minds: the newest of everything at a tick, put together from what was told. */

import { Ran } from "../codes";

/** A note as it is sent: what follows the importance may be missing in older records. */
export type NoteValues = [
  tick: number,
  text: string,
  about: string,
  importance: number,
  kind?: string,
  toldBy?: string,
  times?: number,
  number?: number,
  evidence?: number[],
];

export interface Insight {
  tick: number;
  whole: boolean; // nothing that was told before counts
  tree: [depth: number, text: string][];
  ran: number[] | null; // for each node what became of it; null if nothing changed
  board: [key: string, json: string][];
  gone: string[];
  memories: NoteValues[];
}

/** The needs of a character after a tick; own ones are those that the scenario declares. */
export type NeedReport = [tick: number, energy: number, hunger: number, ...own: number[]];

export interface MindReport {
  insights: Insight[]; // by tick, from a whole one on if there is one
  needs: NeedReport[];
}

/** A mind lived again from the record: everything in it, nothing cut. */
export interface WholeMind {
  tick: number;
  plan: Record<string, unknown>;
  plan_tick: number | null;
  blackboard: Record<string, unknown>;
  memories: { tick: number; text: string; about: string[]; told_by: string; times: number; evidence: number[] }[]; // the newest last
  lived_again: { intents: number; equal_intents: number; prompts: number; equal_prompts: number; differences: string[] };
}

export const NOTHING: MindReport = { insights: [], needs: [] };
const MOST_MEMORIES = 30;

export interface TreeNode {
  depth: number;
  text: string;
  ran: number;
}

export interface Memory {
  tick: number;
  text: string;
  about: string;
  kind: string;
  source: string; // in words; empty if it was experienced once
}

/** Where a memory comes from, and how often it came, in words. */
export function sourceOf(toldBy: string, times: number, evidence: readonly number[]): string {
  const parts = [
    toldBy && `told by ${toldBy}`,
    evidence.length > 0 && `follows from ${evidence.length} memories`,
    times > 1 && `${times} times`,
  ];
  return parts.filter(Boolean).join(", ");
}

export interface BoardEntry {
  key: string;
  json: string;
  tick: number; // since which it has this value
}

/** A mind as it was at a tick, as far as it was told. */
export interface Mind {
  tick: number; // of the newest insight
  whole: boolean; // whether everything was told by then
  tree: TreeNode[];
  board: BoardEntry[];
  memories: Memory[]; // the newest first
}

/** Puts insights together up to a tick; null if there are none. */
export function mindAt(report: MindReport, tick: number, nameOf: (id: string) => string = (id) => id): Mind | null {
  let tree: [number, string][] = [];
  let ran: number[] = [];
  let board = new Map<string, { json: string; tick: number }>();
  let memories = new Map<string, Memory>(); // by text, the oldest first
  let newest = -1;
  let whole = false;
  for (const insight of report.insights) {
    if (insight.tick > tick) break;
    newest = insight.tick;
    if (insight.whole) {
      whole = true;
      tree = insight.tree;
      ran = [];
      memories = new Map();
      const before = board;
      board = new Map();
      for (const [key, json] of insight.board) {
        const known = before.get(key);
        board.set(key, known?.json === json ? known : { json, tick: insight.tick });
      }
    } else {
      for (const [key, json] of insight.board) board.set(key, { json, tick: insight.tick });
      for (const key of insight.gone) board.delete(key);
    }
    ran = insight.ran ?? ran;
    for (const [noted, text, about, , kind = "", toldBy = "", times = 1, , evidence = []] of insight.memories) {
      memories.delete(text);
      memories.set(text, { tick: noted, text, about, kind, source: sourceOf(toldBy && nameOf(toldBy), times, evidence) });
    }
  }
  if (newest < 0) return null;
  return {
    tick: newest,
    whole,
    tree: tree.map(([depth, text], node) => ({ depth, text, ran: ran[node] ?? Ran.IDLE })),
    board: [...board].map(([key, entry]) => ({ key, ...entry })),
    memories: [...memories.values()].slice(-MOST_MEMORIES).reverse(),
  };
}

/** The nodes on the way to what goes on or succeeded last; all that ran where nothing did. */
export function activeBranch(tree: TreeNode[]): TreeNode[] {
  const ran = tree.filter((node) => node.ran !== Ran.IDLE);
  let leaf = ran.findLastIndex((node) => node.ran === Ran.RUNNING);
  if (leaf < 0) leaf = ran.findLastIndex((node) => node.ran === Ran.SUCCESS);
  if (leaf < 0) return ran;
  const branch: TreeNode[] = [];
  let depth = Infinity;
  for (let at = leaf; at >= 0; at -= 1) {
    if (ran[at].depth < depth) {
      branch.unshift(ran[at]);
      depth = ran[at].depth;
    }
  }
  return branch;
}

export const valueOf = (json: string): unknown => JSON.parse(json) as unknown;

/** Return a value that is a text; empty for any other, and for none. */
export function textOf(json: string | undefined): string {
  const value = json === undefined ? "" : valueOf(json);
  return typeof value === "string" ? value : "";
}

const DEEPEST = 4; // lists in lists are put into words down to here

/** Put a value of a Blackboard into words: "text: buy fish; lines: 3, 4". */
export function shownValue(json: string): string {
  return inWords(valueOf(json), 0);
}

function inWords(value: unknown, depth: number): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return String(value);
  if (depth >= DEEPEST) return "…";
  const parts = Array.isArray(value)
    ? value.map((one) => inWords(one, depth + 1))
    : Object.entries(value).map(([key, one]) => `${key.replaceAll("_", " ")}: ${inWords(one, depth + 1)}`);
  const text = parts.join(Array.isArray(value) ? ", " : "; ") || "nothing";
  return depth && parts.length > 1 ? `(${text})` : text;
}

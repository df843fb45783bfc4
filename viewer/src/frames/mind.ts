/** What agents show of minds: the newest of everything at a tick, put together from what was told. */

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
export const Ran = { IDLE: 0, SUCCESS: 1, FAILURE: 2, RUNNING: 3 } as const;
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

/** A mind as it was at a tick, as far as it was told. */
export interface Mind {
  tick: number; // of the newest insight
  whole: boolean; // whether everything was told by then
  tree: TreeNode[];
  board: { key: string; json: string; tick: number }[];
  memories: Memory[]; // the newest first
}

/** Puts insights together up to a tick; null if there are none. */
export function mindAt(report: MindReport, tick: number): Mind | null {
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
      memories.set(text, { tick: noted, text, about, kind, source: sourceOf(toldBy, times, evidence) });
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

/** A value of a Blackboard for people: texts as they are, everything else as JSON. */
export function shownValue(json: string): string {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : json;
}

/** What agents told of themselves. */

import { Tag, type Frame } from "./layout";

/** A thought in brief, as lists show it. */
export interface Mark {
  tick: number;
  row: number;
  waited: number;
  brief: string;
  model: string;
  latency_s: number;
  cost_usd: number | null;
  tokens: number;
  error_type: string;
}

/** A thought with all of its texts. */
export interface Thought extends Mark {
  asked_tick: number;
  answered_tick: number;
  system_prompt: string;
  user_message: string;
  reply: string;
  thinking: string;
  directives: Record<string, unknown>;
  client: string;
  provider: string;
  attempts: number;
  queued_s: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  error: string;
}

export interface AgentNote {
  tick: number;
  row: number;
  state: string;
  detail: string;
}

export function marksOf(frame: Frame): Mark[] {
  return frame.json<Mark[]>(Tag.THOUGHTS, []);
}

export function agentNotesOf(frame: Frame): AgentNote[] {
  const found = frame.json<[number, number, string, string][]>(Tag.STATES, []);
  return found.map(([tick, row, state, detail]) => ({ tick, row, state, detail }));
}

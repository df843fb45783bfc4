/** What agents told of themselves. */

import { Tag } from "../codes";
import { type Frame } from "./layout";

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
  kind: string; // the faculty that asked; empty if it asked for a plan
  late: boolean; // it came after the ticks that the world gives a thought
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cached_tokens: number | null; // of the prompt, that the endpoint had read before
  error: string;
}

export interface AgentNote {
  tick: number;
  known: number; // the tick with which it was known
  row: number;
  state: string;
  detail: string;
}

export function marksOf(frame: Frame): Mark[] {
  return frame.json<Mark[]>(Tag.THOUGHTS, []);
}

type State = [tick: number, row: number, state: string, detail: string];

const noteOf = (frame: Frame, [tick, row, state, detail]: State): AgentNote => ({
  tick,
  known: Math.max(tick, frame.tick),
  row,
  state,
  detail,
});

export function agentNotesOf(frame: Frame): AgentNote[] {
  return frame.json<State[]>(Tag.STATES, []).map((state) => noteOf(frame, state));
}

/** How all agents who did not plainly run were doing after the frame's tick; null if the frame does not tell. */
export function holdingOf(frame: Frame): AgentNote[] | null {
  return frame.json<State[] | null>(Tag.HOLDING, null)?.map((state) => noteOf(frame, state)) ?? null;
}

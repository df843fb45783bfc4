/** What the viewer's server does with recorded runs beside showing one: list them, branch, compare, ask. */

export interface RunRow {
  run_id: string;
  parent: string; // empty: it branched off none
  branched_at: number | null; // the last tick of the past that both share
  changes: string[]; // in words
  state: string;
  ticks: number;
  world: string;
  problem: string;
  depth: number; // in the tree
  related: boolean; // to the run that is shown
}

export interface Divergence {
  first_tick_id: number | null; // after which the worlds differ
  state: string; // the first differences, in words
  thought: string;
  ticks: number[];
  elsewhere: number[]; // share of the characters that stand elsewhere
  until_tick_id: number | null; // the last one that was compared, if the runs are too long to compare whole
}

export interface Change {
  kind: string;
  who: string;
  what: string;
  value: string;
}

export interface BranchOrder {
  tick: number;
  ticks?: number;
  changes: Change[];
  replies: "anew" | "keep";
}

export interface BranchState {
  state: "none" | "living" | "done" | "failed";
  run_id?: string;
  tick?: number;
  of?: number;
  why?: string;
  said?: string; // a warning
}

export interface Citation {
  number: number;
  tick_id: number;
  text: string;
  told_by: string;
}

export interface InterviewAnswer {
  tick_id: number;
  question: string;
  text: string;
  known: boolean;
  citations: Citation[];
  thought: { tick_id: number; text: string } | null;
  by_model: boolean;
}

export interface InterviewStep {
  state?: "living" | "asked";
  part?: string;
  answer?: InterviewAnswer;
  error?: string;
}

export type Request = (path: string, init?: RequestInit) => Promise<Response>;

export class LabDoor {
  constructor(private readonly request: Request) {}

  async runs(): Promise<RunRow[]> {
    return (await this.request("runs")).json();
  }

  async divergence(other: string, signal?: AbortSignal): Promise<Divergence> {
    return (await this.request(`divergence?other=${encodeURIComponent(other)}`, { signal })).json();
  }

  async branch(order: BranchOrder): Promise<BranchState> {
    return (await this.request("branch", posted(order))).json();
  }

  async branchState(): Promise<BranchState> {
    return (await this.request("branch")).json();
  }

  /** What happens until the answer to a question. */
  async *interview(who: string, tick: number, question: string, signal: AbortSignal): AsyncGenerator<InterviewStep> {
    const answer = await this.request(`interview?tick=${tick}`, { ...posted({ who, question }), signal });
    const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (text + value).split("\n");
      text = lines.pop() as string;
      for (const line of lines) yield JSON.parse(line) as InterviewStep;
    }
  }
}

function posted(body: object): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** The address of this page for another run, or for another one beside it. */
export function runAddress(run: string, beside = "", hash = location.hash): string {
  const kept = new URLSearchParams();
  if (run) kept.set("run", run);
  if (beside) kept.set("beside", beside);
  return `${location.pathname}${kept.size ? `?${kept}` : ""}${hash}`;
}

/** Where the server answers about a run; the empty one is the run that it was started with. */
export function baseOf(run: string): string {
  return run ? `/run/${encodeURIComponent(run)}` : "";
}

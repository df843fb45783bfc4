/** Ask a character of a recorded run as it was at the tick that is shown. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import type { InterviewAnswer } from "../lab/door";
import type { RunBench } from "../lab/bench";
import { count } from "../words";
import { Said, When } from "./parts";

const MOST_QUESTION = 300; // characters

interface Asked {
  question: string;
  tick: number;
  state: "living" | "asked" | "done" | "failed";
  draft: string; // what a model has said so far
  answer: InterviewAnswer | null;
  why: string;
}

function Answer({ app, answer }: { app: App; answer: InterviewAnswer }) {
  return (
    <>
      <p class={`reply ${answer.known ? "" : "unknown"}`}>
        <Said text={answer.text} />
      </p>
      {answer.citations.length > 0 && (
        <ul class="lines memories" aria-label="Memories that it rests on">
          {answer.citations.map((one) => (
            <li key={one.number}>
              <When app={app} tick={Math.max(1, one.tick_id)} /> <Said text={one.text} />
              {one.told_by && <span class="quiet"> (told by {app.nameOf(one.told_by)})</span>}
            </li>
          ))}
        </ul>
      )}
      {answer.known && !answer.citations.length && <p class="quiet">By what it knows of its world and of itself, no memory of an event.</p>}
      {answer.thought && (
        <div class="then">
          <span class="quiet">
            What it thought then, in tick <When app={app} tick={answer.thought.tick_id} />:
          </span>{" "}
          <Said text={answer.thought.text} />
        </div>
      )}
    </>
  );
}

function Exchange({ app, asked }: { app: App; asked: Asked }) {
  return (
    <article class="asked">
      <p class="question">
        <span class="quiet">
          After tick <When app={app} tick={asked.tick} />
        </span>{" "}
        <Said text={asked.question} />
      </p>
      {asked.state === "living" && <p class="quiet">It lives through {count(asked.tick)} ticks again…</p>}
      {asked.state === "asked" && (asked.draft ? <p class="reply draft">{asked.draft}</p> : <p class="quiet">It thinks…</p>)}
      {asked.state === "failed" && (
        <p class="bad" role="alert">
          <Said text={asked.why} />
        </p>
      )}
      {asked.answer && <Answer app={app} answer={asked.answer} />}
    </article>
  );
}

function useInterview(app: App, bench: RunBench, row: number): [Asked[], (question: string, tick: number) => void] {
  const [asked, setAsked] = useState<Asked[]>([]);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const ask = async (question: string, tick: number): Promise<void> => {
    const control = stop.current;
    const begun: Asked = { question, tick, state: "living", draft: "", answer: null, why: "" };
    let last = begun;
    const show = (change: Partial<Asked>) => {
      last = { ...last, ...change };
      if (!control.signal.aborted) setAsked((all) => [last, ...all.slice(1)]);
    };
    setAsked((all) => [begun, ...all]);
    try {
      for await (const step of bench.door.interview(app.world.actorIds[row], tick, question, control.signal)) {
        if (step.state) show({ state: step.state });
        if (step.part) show({ draft: last.draft + step.part });
        if (step.answer) show({ state: "done", answer: step.answer });
        if (step.error) show({ state: "failed", why: step.error });
      }
      if (last.state !== "done" && last.state !== "failed") show({ state: "failed", why: "The viewer's server broke off." });
    } catch (error) {
      show({ state: "failed", why: (error as Error).message });
    }
  };
  return [asked, (question, tick) => void ask(question, tick)];
}

function Interview({ app, bench, row, tick }: { app: App; bench: RunBench; row: number; tick: number }) {
  const [asked, ask] = useInterview(app, bench, row);
  const [question, setQuestion] = useState("");
  const busy = asked[0]?.state === "living" || asked[0]?.state === "asked";
  return (
    <section class="interview">
      <h3>Interview</h3>
      <form
        class="speak"
        onSubmit={(event) => {
          event.preventDefault();
          if (!question.trim() || busy || tick < 1) return;
          ask(question.trim(), tick);
          setQuestion("");
        }}
      >
        <input
          type="text"
          aria-label={`Ask ${app.world.actorIds[row]} as it was after tick ${tick}`}
          placeholder={`Ask it, as it was after tick ${count(tick)}`}
          maxLength={MOST_QUESTION}
          value={question}
          onInput={(event) => setQuestion(event.currentTarget.value)}
        />
        <button type="submit" disabled={busy || tick < 1}>
          Ask
        </button>
      </form>
      <div class="exchanges" aria-live="polite">
        {asked.map((one, at) => (
          <Exchange key={asked.length - at} app={app} asked={one} />
        ))}
      </div>
    </section>
  );
}

/** The interview of a character, where the viewer can live its mind again. */
export function InterviewView({ app, row, tick }: { app: App; row: number; tick: number }) {
  const bench = app.bench.value;
  return bench ? <Interview key={row} app={app} bench={bench} row={row} tick={tick} /> : null;
}

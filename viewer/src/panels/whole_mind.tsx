/** A mind lived again from the record: all memories and values, where the record holds the newest ones only. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { shownValue, sourceOf, type WholeMind } from "../frames/mind";
import { count } from "../words";
import { Fold, Said, When } from "./parts";

type Answer = { state: "none" } | { state: "living"; tick: number } | { state: "failed"; why: string } | { state: "whole"; mind: WholeMind };

/** Lives a mind again when asked to; leaving the character or the page ends it. */
function useWholeMind(app: App, row: number): [Answer, (tick: number) => void] {
  const [answer, setAnswer] = useState<Answer>({ state: "none" });
  const living = useRef(new AbortController());
  useEffect(() => () => living.current.abort(), []);
  const ask = (tick: number): void => {
    living.current.abort();
    const control = (living.current = new AbortController());
    setAnswer({ state: "living", tick });
    app.source
      .wholeMind?.(row, tick, control.signal)
      .then((mind) => setAnswer({ state: "whole", mind }))
      .catch((error: Error) => {
        if (!control.signal.aborted) setAnswer({ state: "failed", why: error.message });
      });
  };
  return [answer, ask];
}

function Values({ title, values }: { title: string; values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (!entries.length) return null;
  return (
    <Fold title={`${title} (${count(entries.length)})`}>
      <table class="board">
        <tbody>
          {entries.map(([key, value]) => (
            <tr key={key}>
              <th scope="row">
                <bdi>{key}</bdi>
              </th>
              <td dir="auto">{shownValue(JSON.stringify(value))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Fold>
  );
}

function Whole({ app, mind }: { app: App; mind: WholeMind }) {
  const lived = mind.lived_again;
  return (
    <>
      <p class="quiet">
        After tick <When app={app} tick={mind.tick} />: {count(lived.equal_intents)} of {count(lived.intents)} intents and{" "}
        {count(lived.equal_prompts)} of {count(lived.prompts)} prompts came out as recorded.
      </p>
      {lived.differences.map((difference) => (
        <p key={difference} class="bad">
          <Said text={difference} />
        </p>
      ))}
      <Values title={`Plan of tick ${mind.plan_tick ?? "?"}`} values={mind.plan} />
      <Values title="Blackboard" values={mind.blackboard} />
      <Fold title={`Memories (${count(mind.memories.length)})`} open>
        <ul class="lines memories">
          {[...mind.memories].reverse().map((memory, at) => (
            <li key={at}>
              {memory.tick > 0 && <When app={app} tick={memory.tick} />} <Said text={memory.text} />
              <Source app={app} memory={memory} />
            </li>
          ))}
        </ul>
      </Fold>
    </>
  );
}

function Source({ app, memory }: { app: App; memory: WholeMind["memories"][number] }) {
  const source = sourceOf(memory.told_by && app.nameOf(memory.told_by), memory.times, memory.evidence);
  return source ? <span class="quiet"> ({source})</span> : null;
}

export function WholeMindView({ app, row, tick }: { app: App; row: number; tick: number }) {
  const [answer, ask] = useWholeMind(app, row);
  const shown = answer.state === "whole" && answer.mind.tick === tick;
  return (
    <section class="whole-mind">
      <h3>Whole mind</h3>
      {answer.state === "living" && (
        <p class="quiet" role="status">
          Its agent's program lives through {count(answer.tick)} ticks again…
        </p>
      )}
      {answer.state === "failed" && (
        <p class="bad" role="alert">
          <Said text={answer.why} />
        </p>
      )}
      {answer.state === "whole" && <Whole app={app} mind={answer.mind} />}
      {answer.state !== "living" && !shown && (
        <div class="buttons">
          <button
            type="button"
            disabled={tick < 1}
            title="The record holds the newest memories and short values. This runs the agent's program again, with what it observed and thought, up to this tick."
            onClick={() => ask(tick)}
          >
            Live it again up to tick {count(tick)}
          </button>
        </div>
      )}
    </section>
  );
}

/** The inside of a character: its needs, its behaviour tree with the nodes that ran, its Blackboard and its memories. */

import { useEffect, useRef, useState } from "preact/hooks";
import { NEED_FULL } from "../codes";
import type { App } from "../app";
import { NOTHING, activeBranch, shownValue, type BoardEntry, type Mind, type MindReport, type NeedReport, type TreeNode } from "../frames/mind";
import { percent, plain } from "../words";
import { AGAIN_MS, When } from "./parts";

const LATER_TICKS = 3; // so much later what belongs to a tick may be told

/** Asks for the mind of a character whenever there can be something new about it; one question at a time, until it is answered. */
export function useMind(app: App, row: number, tick: number): MindReport {
  const [report, setReport] = useState<{ row: number; found: MindReport }>({ row: -1, found: NOTHING });
  const asking = useRef({ busy: false, wanted: "" });
  const key = `${row} ${tick} ${Math.min(app.last.value, tick + LATER_TICKS)}`;
  useEffect(() => {
    const state = asking.current;
    state.wanted = key;
    const ask = (): void => {
      const asked = state.wanted;
      const [actor, last] = asked.split(" ").map(Number);
      state.busy = true;
      app.source
        .mind(actor, last)
        .then((found) => {
          setReport({ row: actor, found });
          state.busy = false;
          if (state.wanted && state.wanted !== asked) ask();
        })
        .catch(() => window.setTimeout(() => (state.wanted ? ask() : (state.busy = false)), AGAIN_MS));
    };
    if (!state.busy) ask();
  }, [key]);
  useEffect(() => () => void (asking.current.wanted = ""), []); // nobody looks any more
  return report.row === row ? report.found : NOTHING;
}

function Need({ name, value, colour }: { name: string; value: number; colour: string }) {
  return (
    <div class="need">
      <bdi>{plain(name)}</bdi>
      <div class="gauge" role="meter" aria-label={plain(name)} aria-valuemin={0} aria-valuemax={NEED_FULL} aria-valuenow={value} aria-valuetext={percent(value)}>
        <div style={{ width: `${(100 * value) / NEED_FULL}%`, background: colour }} />
      </div>
      <span class="amount">{percent(value)}</span>
    </div>
  );
}

const COLOURS = [1, 2, 3, 4, 5, 6].map((place) => `var(--series-${place})`);

export function Needs({ report, tick, own }: { report: MindReport; tick: number; own: string[] }) {
  const told = report.needs.filter(([at]) => at <= tick);
  if (!told.length) return null;
  const [, ...values] = told[told.length - 1];
  const names = ["Energy", "Hunger", ...own].slice(0, values.length);
  const first = told[0][0];
  const width = Math.max(1, tick - first);
  const line = (need: number): string =>
    [...told, [tick, ...values] as NeedReport]
      .map((one, at) => `${at ? "L" : "M"}${((300 * (one[0] - first)) / width).toFixed(1)} ${(34 - (32 * one[need + 1]) / NEED_FULL).toFixed(1)}`)
      .join("");
  return (
    <section>
      <h3>Needs</h3>
      <div class="needs">
        {names.map((name, need) => (
          <Need key={need} name={name} value={values[need]} colour={COLOURS[need % COLOURS.length]} />
        ))}
      </div>
      {width > 1 && (
        <figure class="curve">
          <svg viewBox="0 0 300 36" preserveAspectRatio="none" role="img" aria-label={`${names.join(", ")} from tick ${first} to ${tick}`}>
            {names.map((_, need) => (
              <path key={need} d={line(need)} fill="none" stroke={COLOURS[need % COLOURS.length]} stroke-width="1.6" vector-effect="non-scaling-stroke" />
            ))}
          </svg>
          <figcaption class="quiet">the last {width} ticks</figcaption>
        </figure>
      )}
    </section>
  );
}

const OUTCOMES: [kind: string, mark: string, words: string][] = [
  ["idle", "·", "did not run"],
  ["success", "✓", "succeeded"],
  ["failure", "✗", "failed"],
  ["running", "▸", "goes on"],
];

function NodeLine({ node }: { node: TreeNode }) {
  const [kind, mark, words] = OUTCOMES[node.ran] ?? OUTCOMES[0];
  return (
    <li class={kind} style={{ paddingInlineStart: `${Math.min(node.depth, 12) * 15}px` }}>
      <span class="outcome" role="img" aria-label={words} title={words}>
        {mark}
      </span>
      <bdi>{node.text}</bdi>
    </li>
  );
}

export function Tree({ app, mind }: { app: App; mind: Mind }) {
  const [all, setAll] = useState(false);
  const shown = all ? mind.tree : activeBranch(mind.tree);
  if (!mind.tree.length) return null;
  return (
    <section>
      <h3>
        Behaviour tree at tick <When app={app} tick={mind.tick} />
        <span class="pager">
          <button type="button" aria-pressed={all} aria-label="Whole tree" onClick={() => setAll(!all)}>
            Whole
          </button>
        </span>
      </h3>
      {shown.length ? (
        <ul class="tree">
          {shown.map((node, at) => (
            <NodeLine key={at} node={node} />
          ))}
        </ul>
      ) : (
        <p class="quiet">None of its {mind.tree.length} nodes ran.</p>
      )}
    </section>
  );
}

export function Board({ app, entries }: { app: App; entries: BoardEntry[] }) {
  if (!entries.length) return null;
  return (
    <section>
      <h3>Blackboard</h3>
        <table class="board">
          <tbody>
            {entries.map(({ key, json, tick }) => (
              <tr key={key}>
                <th scope="row">
                  <bdi>{key}</bdi>
                </th>
                <td dir="auto">{shownValue(json)}</td>
                <td class="since">
                  <When app={app} tick={tick} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
    </section>
  );
}

export function Memories({ app, mind }: { app: App; mind: Mind }) {
  return (
    <section>
      <h3>Remembers</h3>
      {mind.memories.length ? (
        <ul class="lines memories">
          {mind.memories.map((memory) => (
            <li key={memory.text}>
              {memory.tick > 0 && <When app={app} tick={memory.tick} />} <span class="said" dir="auto">{memory.text}</span>
              {memory.source && <span class="quiet"> ({memory.source})</span>}
            </li>
          ))}
        </ul>
      ) : (
        <p class="quiet">Nothing yet.</p>
      )}
    </section>
  );
}

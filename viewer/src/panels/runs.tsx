/** The tree of runs, and what differs between this run and the one beside it. */

import { useEffect } from "preact/hooks";
import type { App } from "../app";
import type { Beside } from "../lab/beside";
import type { RunBench } from "../lab/bench";
import { differencesAt, onlySaid } from "../lab/differences";
import type { Divergence, RunRow } from "../lab/door";
import { count } from "../words";
import { Said, When, Who } from "./parts";

const WIDTH = 340;
const HEIGHT = 60;
const MOST = 40; // differences that are listed

/** How many characters stand elsewhere, over the ticks; a click goes there. */
function Apart({ app, divergence }: { app: App; divergence: Divergence }) {
  const { ticks, elsewhere } = divergence;
  if (ticks.length < 2) return null;
  const [first, last] = [ticks[0], ticks[ticks.length - 1]];
  const across = (tick: number) => ((tick - first) / Math.max(1, last - first)) * WIDTH;
  const top = Math.max(...elsewhere, 0.01);
  const line = elsewhere.map((value, at) => `${at ? "L" : "M"}${across(ticks[at]).toFixed(1)} ${(HEIGHT - 2 - (value / top) * (HEIGHT - 8)).toFixed(1)}`).join("");
  const now = app.tick.value;
  const at = ticks.findIndex((tick) => tick >= now);
  const share = elsewhere[at < 0 ? ticks.length - 1 : at];
  return (
    <figure class="chart">
      <figcaption>
        <span>Stand elsewhere</span>
        <span class="values">{Math.round(100 * share)} % now</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Characters that stand elsewhere, over the ticks: ${Math.round(100 * share)} % now, at most ${Math.round(100 * top)} %`}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          app.player.playing = false;
          app.seek(Math.round(first + ((event.clientX - box.left) / box.width) * (last - first)));
        }}
      >
        <path d={line} fill="none" stroke="var(--action)" stroke-width="1.6" vector-effect="non-scaling-stroke" />
        <line class="cursor" x1={across(now)} x2={across(now)} y1="0" y2={HEIGHT} vector-effect="non-scaling-stroke" />
      </svg>
    </figure>
  );
}

function Now({ app, beside }: { app: App; beside: Beside }) {
  const tick = app.tick.value;
  void app.drawnTick.value; // the other run may come later than this one
  if (tick > beside.film.span.last) return <p class="quiet">The other run ends with tick {count(beside.film.span.last)}.</p>;
  const found = differencesAt(app.film, beside.film);
  const said = onlySaid(app.film, beside.film, tick) ?? [];
  if (!found.length && !said.length) return <p class="quiet">Nobody and nothing differs at tick {count(tick)}.</p>;
  return (
    <>
      {found.length > 0 && (
        <table class="board apart">
          <thead>
            <tr>
              <th scope="col">At tick {count(tick)}</th>
              <th scope="col">here</th>
              <th scope="col">there</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, MOST).map((one) => (
              <tr key={`${one.row} ${one.name}`}>
                <th scope="row">{one.row >= 0 ? <Who app={app} row={one.row} /> : <bdi>{one.name}</bdi>}</th>
                <td>{one.here}</td>
                <td>{one.there}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found.length > MOST && <p class="quiet">and {count(found.length - MOST)} more</p>}
      {said.length > 0 && (
        <ul class="lines">
          {said.slice(0, MOST).map((one, at) => (
            <li key={at} class={one.here ? "speech" : "thought"}>
              <When app={app} tick={one.tick} /> <span class="quiet">{one.here ? "only here" : "only there"}</span> <Who app={app} row={one.row} /> <Said text={one.text} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Comparison({ app, bench, beside }: { app: App; bench: RunBench; beside: Beside }) {
  void bench.version.value;
  const { fork } = bench;
  const { divergence } = beside;
  return (
    <section class="comparison">
      <h2>
        <bdi>{beside.runId}</bdi>
      </h2>
      {fork !== null && (
        <p>
          The past is the same up to tick <When app={app} tick={fork} />.
        </p>
      )}
      {!divergence && !bench.problem.value && (
        <p class="quiet" role="status">
          Comparing both runs…
        </p>
      )}
      {divergence && (
        <>
          {!divergence.state && !divergence.thought && <p>The runs are the same: every state, prompt and thought.</p>}
          {divergence.until_tick_id !== null && (
            <p class="quiet">
              The runs are long, so they were compared up to tick <When app={app} tick={divergence.until_tick_id} />.
            </p>
          )}
          {divergence.first_tick_id !== null && (
            <p>
              The worlds differ from tick <When app={app} tick={divergence.first_tick_id} /> on.
            </p>
          )}
          {divergence.first_tick_id === null && divergence.state && (
            <p>
              <Said text={divergence.state} />
            </p>
          )}
          {divergence.thought && (
            <p class="quiet">
              First other thought: <Said text={divergence.thought} />
            </p>
          )}
          <Apart app={app} divergence={divergence} />
        </>
      )}
      <Now app={app} beside={beside} />
      <div class="buttons">
        <button type="button" onClick={() => bench.putAway()}>
          Put it away
        </button>
      </div>
    </section>
  );
}

function Run({ bench, row }: { bench: RunBench; row: RunRow }) {
  const here = row.run_id === bench.runId;
  const beside = bench.beside.value?.runId === row.run_id;
  const readable = row.state !== "damaged" && row.ticks > 0;
  return (
    <li class={`run ${here ? "here" : ""}`} style={{ marginLeft: `${Math.min(row.depth, 6) * 14}px` }} aria-current={here ? "true" : undefined}>
      <div class="name">
        {row.depth > 0 && <span aria-hidden="true">└</span>}
        <bdi>{row.run_id}</bdi>
      </div>
      <div class="quiet">
        {row.problem || (
          <>
            {row.branched_at !== null && `after tick ${count(row.branched_at)}, `}
            {count(row.ticks)} ticks{row.state === "clean" ? "" : `, ${row.state}`}
            {!row.related && ` of ${row.world}`}
          </>
        )}
      </div>
      {row.changes.map((change) => (
        <div key={change} class="changed">
          <Said text={change} />
        </div>
      ))}
      <div class="buttons">
        {here && <span class="chip">shown</span>}
        {!here && readable && (
          <button type="button" onClick={() => bench.open(row.run_id)} aria-label={`Show ${row.run_id}`}>
            Show
          </button>
        )}
        {!here && readable && row.related && (
          <button type="button" aria-pressed={beside} onClick={() => (beside ? bench.putAway() : void bench.putBeside(row.run_id))} aria-label={`Watch ${row.run_id} beside this run`}>
            Side by side
          </button>
        )}
      </div>
    </li>
  );
}

export function Runs({ app }: { app: App }) {
  const bench = app.bench.value;
  useEffect(() => void bench?.refresh(), [bench]);
  if (!bench) return <p class="empty">This viewer shows one run only. Open a run with `tickmind replay` to branch it, and to watch two runs side by side.</p>;
  const rows = bench.rows.value;
  const beside = bench.beside.value;
  const related = rows?.filter((row) => row.related) ?? [];
  const others = rows?.filter((row) => !row.related) ?? [];
  return (
    <div class="runs">
      {bench.problem.value && (
        <p class="bad" role="alert">
          <Said text={bench.problem.value} />
        </p>
      )}
      {beside && <Comparison app={app} bench={bench} beside={beside} />}
      <section>
        <h3>This run and its branches</h3>
        {!rows && <p class="quiet">Loading…</p>}
        <ul class="tree-of-runs">
          {related.map((row) => (
            <Run key={row.run_id} bench={bench} row={row} />
          ))}
        </ul>
        {rows && related.length < 2 && <p class="quiet">There is no branch yet: “Branch from here” beside the timeline makes one.</p>}
      </section>
      {others.length > 0 && (
        <section>
          <h3>Other runs</h3>
          <ul class="tree-of-runs">
            {others.map((row) => (
              <Run key={row.run_id} bench={bench} row={row} />
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

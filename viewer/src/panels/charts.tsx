/** Numbers over time. A click in a chart goes to that tick. */

import { useState } from "preact/hooks";
import type { App } from "../app";
import type { Digest } from "../film/source";
import { count, money, percent, seconds } from "../words";

interface Line {
  name: string;
  colour: string;
  values: number[];
}

const WIDTH = 340;
const HEIGHT = 74;

function path(values: number[], top: number): string {
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  return values.map((value, at) => `${at ? "L" : "M"}${(at * step).toFixed(1)} ${(HEIGHT - (value / top) * (HEIGHT - 6)).toFixed(1)}`).join("");
}

function Chart({ app, digest, title, lines, say }: { app: App; digest: Digest; title: string; lines: Line[]; say: (value: number) => string }) {
  const [at, setAt] = useState<number | null>(null);
  const points = lines[0].values.length;
  const top = Math.max(1e-9, ...lines.map((line) => Math.max(0, ...line.values)));
  const now = Math.min(points - 1, Math.max(0, Math.floor((app.tick.value - digest.first) / digest.step)));
  const place = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(points - 1, Math.max(0, Math.round(((event.clientX - box.left) / box.width) * (points - 1))));
  };
  const read = at ?? now;
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="values">
          {lines.map((line) => (
            <span key={line.name} style={{ color: line.colour }}>
              {line.name} {say(line.values[read] ?? 0)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${lines.map((line) => `${line.name} ${say(line.values[now] ?? 0)}`).join(", ")} now`}
        onMouseMove={(event) => setAt(place(event))}
        onMouseLeave={() => setAt(null)}
        onClick={(event) => {
          app.player.playing = false;
          app.seek(digest.first + place(event) * digest.step);
        }}
      >
        {lines.map((line) => (
          <path key={line.name} d={path(line.values, top)} fill="none" stroke={line.colour} stroke-width="1.6" vector-effect="non-scaling-stroke" />
        ))}
        {points > 1 && (
          <line class="cursor" x1={(read / (points - 1)) * WIDTH} x2={(read / (points - 1)) * WIDTH} y1="0" y2={HEIGHT} vector-effect="non-scaling-stroke" />
        )}
      </svg>
    </figure>
  );
}

const perAnswer = (digest: Digest): number[] =>
  digest.columns.latency_s.map((sum, at) => sum / Math.max(1, digest.columns.answers[at] + digest.columns.outages[at]));

const runningSum = (values: number[]): number[] => {
  let sum = 0;
  return values.map((value) => (sum += value));
};

export function Charts({ app }: { app: App }) {
  const digest = app.digest.value;
  if (!digest || digest.ticks < 2) return <p class="empty">There are no numbers yet; they begin with the second tick.</p>;
  const { columns } = digest;
  const live = columns.gap_ms.some((gap) => gap > 0);
  const each = digest.step > 1 ? `in ${digest.step} ticks` : "in a tick";
  return (
    <div class="charts">
      <Chart
        app={app}
        digest={digest}
        title="Characters"
        say={count}
        lines={[
          { name: "awake", colour: "var(--series-1)", values: columns.awake },
          { name: "asleep", colour: "var(--series-6)", values: columns.asleep },
          { name: "uncontrolled", colour: "var(--muted)", values: columns.uncontrolled },
          { name: "fallen", colour: "var(--bad)", values: columns.incapacitated },
        ]}
      />
      {columns.energy.some((energy) => energy > 0) && (
        <Chart
          app={app}
          digest={digest}
          title="Needs, the mean of all"
          say={percent}
          lines={[
            { name: "energy", colour: "var(--series-1)", values: columns.energy },
            { name: "hunger", colour: "var(--series-2)", values: columns.hunger },
          ]}
        />
      )}
      <Chart
        app={app}
        digest={digest}
        title={`Events ${each}`}
        say={count}
        lines={[
          { name: "speech", colour: "var(--highlight)", values: columns.said },
          { name: "actions", colour: "var(--action)", values: columns.acted },
          { name: "failures", colour: "var(--bad)", values: columns.failed },
        ]}
      />
      <Chart
        app={app}
        digest={digest}
        title={`Model answers ${each}`}
        say={count}
        lines={[
          { name: "answers", colour: "var(--thought)", values: columns.answers },
          { name: "failed", colour: "var(--bad)", values: columns.outages },
        ]}
      />
      <Chart app={app} digest={digest} title="Model latency" say={seconds} lines={[{ name: "mean", colour: "var(--thought)", values: perAnswer(digest) }]} />
      <Chart app={app} digest={digest} title="Tokens so far" say={count} lines={[{ name: "all", colour: "var(--thought)", values: runningSum(columns.tokens) }]} />
      <Chart app={app} digest={digest} title="Cost so far" say={money} lines={[{ name: "all", colour: "var(--thought)", values: runningSum(columns.cost_usd) }]} />
      {live && (
        <Chart
          app={app}
          digest={digest}
          title="Between ticks, as they arrived here"
          say={(value) => `${value.toFixed(0)} ms`}
          lines={[{ name: "gap", colour: "var(--action)", values: columns.gap_ms }]}
        />
      )}
    </div>
  );
}

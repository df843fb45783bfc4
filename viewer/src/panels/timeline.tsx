/** The timeline: play, pause, speed, steps, every tick under one slider, and marks where something happened. */

import { useEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { clockOf, daysOf } from "../film/daylight";
import { SPEEDS } from "../film/player";
import { theme } from "../theme";
import { count } from "../words";
import { BranchButton } from "./branch";

const MARKS: [column: string, colour: string, row: number][] = [
  ["said", "--highlight", 0],
  ["failed", "--warn", 1],
  ["outages", "--bad", 2],
  ["answers", "--thought", 2],
];

const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  back: "M12 2.5v11L5.5 8zM3.5 2.5h1.6v11H3.5z",
  on: "M4 2.5v11L10.5 8zM10.9 2.5h1.6v11h-1.6z",
  before: "M8.5 2.5v11L2 8zM14.5 2.5v11L8 8z",
  after: "M7.5 2.5v11L14 8zM1.5 2.5v11L8 8z",
};

function Icon({ name }: { name: keyof typeof ICONS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} fill="currentColor" />
    </svg>
  );
}

function draw(canvas: HTMLCanvasElement, app: App): void {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const digest = app.digest.peek();
  if (!digest) return;
  const { first, last } = app.film.span;
  const across = (tick: number) => ((tick - first) / Math.max(1, last - first)) * (width - 14) + 7;
  const rows = 3;
  const high = height / rows;
  for (const [name, colour, row] of MARKS) {
    const values = digest.columns[name];
    const top = Math.max(...values, 1);
    canvas.style.color = `var(${colour})`; // a canvas does not know the colours of the page's style by their names
    pen.fillStyle = getComputedStyle(canvas).color;
    const wide = Math.max(1.4, across(first + digest.step) - across(first) - 0.4);
    values.forEach((value, at) => {
      if (!value) return;
      const tall = Math.max(2, (value / top) * (high - 1));
      const x = across(digest.first + at * digest.step);
      if (x >= 0) pen.fillRect(x - wide / 2, (row + 1) * high - tall, wide, tall);
    });
  }
}

export function Timeline({ app }: { app: App }) {
  const marks = useRef<HTMLCanvasElement>(null);
  const tick = app.tick.value;
  const last = app.last.value;
  const digest = app.digest.value;
  const { span } = app.film;
  const playing = app.playing.value;
  const { calendar } = app.world.info.setting;
  const now = [clockOf(calendar, app.film.scene.tick), daysOf(calendar, app.film.scene.tick)].filter(Boolean);
  useEffect(() => {
    if (marks.current) draw(marks.current, app);
  }, [digest, last, theme.value]);
  useEffect(() => {
    const again = () => marks.current && draw(marks.current, app);
    window.addEventListener("resize", again);
    return () => window.removeEventListener("resize", again);
  }, []);
  return (
    <footer class="timeline" aria-label="Timeline">
      <div class="controls">
        <button type="button" onClick={() => app.step(-1)} aria-label="One tick back" title="One tick back (,)">
          <Icon name="back" />
        </button>
        <button type="button" class="play" onClick={() => app.toggle()} aria-label={playing ? "Pause" : "Play"} title="Play or pause (space)">
          <Icon name={playing ? "pause" : "play"} />
        </button>
        <button type="button" onClick={() => app.step(1)} aria-label="One tick on" title="One tick on (.)">
          <Icon name="on" />
        </button>
        <label class="speed">
          <span class="unseen">Speed</span>
          <select value={String(app.speed.value)} onChange={(event) => app.setSpeed(Number(event.currentTarget.value))} title="Speed">
            {SPEEDS.map((speed) => (
              <option key={speed} value={String(speed)}>
                {speed}×
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="track">
        <canvas ref={marks} aria-hidden="true" />
        <input
          type="range"
          aria-label="Tick"
          aria-valuetext={`tick ${tick} of ${last}, ${now.join(", ")}`}
          min={Math.min(span.first - 1, last)}
          max={last}
          value={tick}
          onInput={(event) => {
            app.player.playing = false;
            app.seek(Number(event.currentTarget.value));
          }}
        />
      </div>
      <div class="controls">
        <button type="button" onClick={() => app.jump(["said", "answers", "outages"], -1)} title="Previous speech or thought (p)" aria-label="Previous event">
          <Icon name="before" />
        </button>
        <button type="button" onClick={() => app.jump(["said", "answers", "outages"], 1)} title="Next speech or thought (n)" aria-label="Next event">
          <Icon name="after" />
        </button>
        <div class="clock">
          <strong>{count(tick)}</strong>
          <span class="quiet"> / {count(last)}</span>
          <div class="hour" title={now.join(", ")}>
            {now[0]}
            {now[1] && <span class="days"> · {now[1]}</span>}
          </div>
        </div>
        <BranchButton app={app} />
        {span.live && (
          <button type="button" class={app.live.value ? "now live" : "now"} aria-pressed={app.live.value} onClick={() => app.goLive()} title="Back to now (l)">
            {app.live.value ? "Live" : "Back to now"}
          </button>
        )}
      </div>
    </footer>
  );
}

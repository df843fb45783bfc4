/** The log of events with its filters, and the conversations. */

import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { conversations } from "../events";
import { EVENT_TYPES, type EventType } from "../hash";
import { TalkGraph } from "./talk_graph";
import { Said, When, Who, useEarlier } from "./parts";

const MOST = 150;
const SOON_MS = 60; // until more of the past is looked through
const NAMES: Record<EventType, string> = {
  speech: "Speech",
  action: "Actions",
  failure: "Failures",
  object: "Objects",
  thought: "Thoughts",
  control: "Control",
  goal: "Goals",
};

function FilterBar({ app }: { app: App }) {
  const filters = app.filters.value;
  const toggle = (type: EventType) => {
    const types = filters.types.includes(type) ? filters.types.filter((one) => one !== type) : [...filters.types, type];
    app.filters.value = { ...filters, types };
  };
  const here = () => {
    if (filters.region || !app.map) {
      app.filters.value = { ...filters, region: null };
      return;
    }
    const { camera } = app.map;
    const { width, height } = app.world.info;
    const [left, top] = camera.toTile(0, 0).map((value) => Math.max(0, Math.floor(value)));
    const [right, bottom] = camera.toTile(camera.width, camera.height).map(Math.floor);
    app.filters.value = {
      ...filters,
      region: { left, top, right: Math.min(width - 1, right), bottom: Math.min(height - 1, bottom) },
    };
  };
  const { region } = filters;
  return (
    <div class="filters">
      <div class="toggles" role="group" aria-label="Kinds of events">
        {EVENT_TYPES.map((type) => (
          <button key={type} type="button" class={`kind ${type}`} aria-pressed={filters.types.includes(type)} onClick={() => toggle(type)}>
            {NAMES[type]}
          </button>
        ))}
      </div>
      <div class="fields">
        <label>
          <span class="unseen">Only characters whose name has</span>
          <input
            type="search"
            placeholder="Any character"
            value={filters.actor}
            onInput={(event) => (app.filters.value = { ...filters, actor: event.currentTarget.value.slice(0, 100) })}
          />
        </label>
        <button type="button" aria-pressed={region !== null} onClick={here}>
          {region ? `${region.left},${region.top} to ${region.right},${region.bottom}` : "Only on screen"}
        </button>
      </div>
    </div>
  );
}

export function Log({ app }: { app: App }) {
  const tick = app.tick.value;
  void app.loaded.value;
  const [, setLooked] = useState(0);
  const { entries, from, more } = app.log.recent(app.filters.value, tick, MOST);
  useEarlier(app, more || entries.length >= MOST, from);
  useEffect(() => {
    if (!more) return;
    const soon = window.setTimeout(() => setLooked((times) => times + 1), SOON_MS);
    return () => window.clearTimeout(soon);
  });
  return (
    <div class="log">
      <FilterBar app={app} />
      {!entries.length && <p class="empty">{more ? "Looking through the last ticks." : "Nothing of this kind happened in the last ticks. With fewer filters, or at another tick, there is more."}</p>}
      <ol class="lines" id="log" aria-label="Events, newest first">
        {entries.map((entry) => (
          <li key={entry.key} class={`${entry.type}${entry.bad ? " bad" : ""}`}>
            <When app={app} tick={entry.tick} /> <Who app={app} row={entry.row} /> <Said text={entry.text} />
          </li>
        ))}
      </ol>
    </div>
  );
}

export function Talk({ app }: { app: App }) {
  const tick = app.tick.value;
  void app.loaded.value;
  const found = conversations(app.film, tick, 30);
  const first = found.length ? Math.min(...found.map((one) => one.lines[0].tick)) : tick;
  useEarlier(app, found.length >= 12, first - 1);
  if (!found.length) return <p class="empty">No character has spoken in the last ticks. Go to another tick, or wait until two of them meet.</p>;
  return (
    <div class="talk">
      <TalkGraph app={app} talks={found} />
      {found.map((one) => (
        <article key={one.key} class={tick - one.lines[one.lines.length - 1].tick <= 12 ? "going" : ""}>
          <header>
            {one.rows.slice(0, 4).map((row) => (
              <Who key={row} app={app} row={row} />
            ))}
            {one.rows.length > 4 && <span class="quiet">and {one.rows.length - 4} more</span>}
          </header>
          <ul class="lines">
            {one.lines.slice(-12).map((line) => (
              <li key={`${line.tick} ${line.row}`}>
                <When app={app} tick={line.tick} /> <Who app={app} row={line.row} /> <Said text={line.text} />
              </li>
            ))}
          </ul>
        </article>
      ))}
    </div>
  );
}

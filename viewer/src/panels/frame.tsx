/** What is around the map: the bar above, the panel beside it, the legend and the help. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { findActors } from "../find";
import { TABS, type Tab } from "../hash";
import { switchTheme, theme } from "../theme";
import { count } from "../words";
import { Charts } from "./charts";
import { Inspector } from "./inspector";
import { Log, Talk } from "./lists";
import { Swatch } from "./parts";
import { PlayPanel } from "./play";
import { Runs } from "./runs";
import { StoryView } from "./story";

const FOUND = 8; // characters that are offered
const TITLES: Record<Tab, string> = { inspector: "Characters", log: "Events", talk: "Talk", story: "Story", charts: "Charts", runs: "Runs" };

// The types of JSX want a list with a combobox; ours is drawn by ourselves.
const COMBOBOX = { role: "combobox", "aria-controls": "found", "aria-autocomplete": "list" };

function Find({ app }: { app: App }) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const found = useMemo(() => findActors(app.world, text, FOUND), [text]);
  const shown = open && found.length > 0;
  const choose = (row: number) => {
    app.visit(row);
    setText("");
    setOpen(false);
  };
  return (
    <div class="find">
      <input
        id="find"
        type="search"
        {...(COMBOBOX as object)}
        aria-expanded={shown}
        aria-activedescendant={shown ? `found-${found[active]}` : undefined}
        aria-label="Find a character"
        placeholder="Find a character  /"
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value.slice(0, 100));
          setActive(0);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && found.length) choose(found[active]);
          if (event.key === "Escape") setOpen(false);
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (!by || !found.length) return;
          event.preventDefault(); // the cursor stays where it is in the text
          setActive(shown ? (active + by + found.length) % found.length : active);
          setOpen(true);
        }}
        onBlur={() => window.setTimeout(() => setOpen(false), 150)}
      />
      <ul id="found" role="listbox" aria-label="Characters found" hidden={!shown}>
        {found.map((row, at) => (
          <li
            key={row}
            id={`found-${row}`}
            class={app.film.scene.isAway(row) ? "away" : ""}
            role="option"
            aria-selected={at === active}
            onPointerDown={() => choose(row)}
          >
            <Swatch id={app.world.actorIds[row]} />
            <bdi>{app.world.nameOf(row)}</bdi>
            {app.film.scene.isAway(row) && <span class="quiet">away</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function TopBar({ app }: { app: App }) {
  const { info } = app.world;
  const connected = app.connected.value;
  const { live } = app.film.span;
  void app.tick.value; // who is away changes with it
  const { away } = app.film.scene;
  const where = live ? (connected ? "live" : "connection lost") : info.mode === "clip" ? "clip" : `replay${info.run_id ? ` of ${info.run_id}` : ""}`;
  return (
    <header class="top">
      <h1>
        <bdi>{info.name}</bdi>
      </h1>
      <span class={`state ${live ? (connected ? "on" : "off") : ""}`} role="status">
        {where}
      </span>
      <span class="quiet many">
        {count(app.world.actors)} characters{away > 0 && `, ${count(away)} away`}
      </span>
      <Find app={app} />
      <div class="buttons">
        <button type="button" aria-pressed={app.daylight.value} onClick={() => (app.daylight.value = !app.daylight.value)} title="Light by the time of the day">
          Daylight
        </button>
        {info.setting.zones.length > 0 && (
          <button type="button" aria-pressed={app.zoneNames.value} onClick={() => (app.zoneNames.value = !app.zoneNames.value)} title="Names of places on the map">
            Places
          </button>
        )}
        <button type="button" class="keyed" aria-pressed={app.legend.value} onClick={() => (app.legend.value = !app.legend.value)}>
          Legend
        </button>
        <button type="button" onClick={switchTheme} title={`Show the page ${theme.value === "dark" ? "light" : "dark"}`}>
          {theme.value === "dark" ? "Light" : "Dark"}
        </button>
        <button type="button" class="keyed" onClick={() => (app.help.value = true)} title="Keys (?)">
          Keys
        </button>
        <button type="button" aria-pressed={app.panel.value} onClick={() => (app.panel.value = !app.panel.value)}>
          Panel
        </button>
      </div>
    </header>
  );
}

export function SidePanel({ app }: { app: App }) {
  const tab = app.tab.value;
  const tabs = TABS.filter((one) => (one !== "runs" || app.bench.value) && (one !== "story" || app.hasStory));
  const bar = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    app.tab.value = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    window.requestAnimationFrame(() => bar.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  const game = app.game.value;
  if (game) {
    return (
      <aside class="side playing" aria-label="Play">
        <PlayPanel app={app} game={game} />
      </aside>
    );
  }
  return (
    <aside class="side" aria-label="Details" hidden={!app.panel.value}>
      <div class="tabs" role="tablist" aria-label="Panels" ref={bar} onKeyDown={move}>
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`tab-${one}`}
            aria-controls="panel"
            aria-selected={tab === one}
            tabIndex={tab === one ? 0 : -1}
            onClick={() => (app.tab.value = one)}
          >
            {TITLES[one]}
          </button>
        ))}
      </div>
      <div class="body" id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === "inspector" && <Inspector app={app} />}
        {tab === "log" && <Log app={app} />}
        {tab === "talk" && <Talk app={app} />}
        {tab === "charts" && <Charts app={app} />}
        {tab === "story" && <StoryView app={app} />}
        {tab === "runs" && <Runs app={app} />}
      </div>
    </aside>
  );
}

const LEGEND: [kind: string, words: string][] = [
  ["asleep", "asleep"],
  ["thinking", "asks a model"],
  ["uncontrolled", "nobody controls it"],
  ["fallen", "too weak to go on"],
];

export function Legend({ app }: { app: App }) {
  if (!app.legend.value || app.game.value) return null;
  return (
    <section class="legend" aria-label="Legend">
      <ul>
        {LEGEND.map(([kind, words]) => (
          <li key={kind}>
            <span class={`mark ${kind}`} aria-hidden="true" />
            {words}
          </li>
        ))}
        <li>
          <span class="mark sight" aria-hidden="true" />
          what the chosen one sees
        </li>
      </ul>
      <ul class="marks">
        <li>
          <span class="mark said" aria-hidden="true" /> speech
        </li>
        <li>
          <span class="mark failed" aria-hidden="true" /> failures
        </li>
        <li>
          <span class="mark answers" aria-hidden="true" /> model answers
        </li>
        <li>
          <span class="mark outages" aria-hidden="true" /> model outages
        </li>
      </ul>
    </section>
  );
}

const KEYS: [keys: string, words: string][] = [
  ["space", "play or pause"],
  [",  .  or  ←  →", "one tick back or on; with Shift ten"],
  ["n  p", "next or previous speech or thought"],
  ["Home  End", "first or last tick"],
  ["l", "back to now"],
  ["-  +", "slower or faster"],
  ["w a s d", "move over the map"],
  ["q  e", "zoom out or in"],
  ["0", "the whole map"],
  ["[  ]", "previous or next character"],
  ["f", "follow the character"],
  ["v", "field of view"],
  ["1 2 3 4 5", "panels"],
  ["b", "branch from here"],
  ["/", "find a character; then ↑ ↓ and Enter"],
  ["Esc", "let go of the character"],
];

const PLAY_KEYS: [keys: string, words: string][] = [
  ["arrows, w a s d", "walk; hold two for a diagonal"],
  ["Enter or t", "say something"],
  ["space", "stop"],
  ["q  e", "zoom out or in"],
];

/** The browser's own dialog: it keeps the focus inside, gives it back, and closes by Escape. */
export function Help({ app }: { app: App }) {
  const open = app.help.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const unreported = useRef(0); // times that we closed it, of which the browser reports each some time later
  const close = () => {
    if (dialog.current?.open) {
      unreported.current++;
      dialog.current.close();
    }
    app.help.value = false; // at once: keys would be lost until the report
  };
  useLayoutEffect(() => {
    if (!open) close();
    else if (!dialog.current?.open) dialog.current?.showModal(); // in one turn it may have been closed and wanted again
  });
  return (
    <dialog
      class="help"
      aria-label="Keys"
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={() => {
        if (unreported.current) unreported.current--; // by now it may be open again
        else app.help.value = false; // the browser closed it by itself
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div>
        <h2>Keys</h2>
        <dl>
          {(app.game.value ? PLAY_KEYS : KEYS).map(([keys, words]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
        <p class="quiet">On the map: drag to move, wheel to zoom, click a character to look into it, double-click to follow it.</p>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}

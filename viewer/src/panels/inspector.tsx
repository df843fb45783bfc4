/** One character at the tick that is shown: what it did, saw, heard, thinks and remembers. */

import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { heardBy } from "../events";
import { seenFrom } from "../film/sight";
import { mindAt } from "../frames/mind";
import type { Thought } from "../frames/notes";
import type { Person } from "../frames/world";
import { AWAY } from "../frames/scene";
import { count, money, plain, seconds, zonePhrase } from "../words";
import { deedAt, recentDeeds } from "./deeds";
import { InnerLife, restOf } from "./inner_life";
import { Board, Memories, Needs, Tree, useMind } from "./mind";
import { InterviewView } from "./interview";
import { Face, People } from "./people";
import { PlayButton } from "./play";
import { WholeMindView } from "./whole_mind";
import { AGAIN_MS, Chips, Fold, Said, When, Who, useEarlier } from "./parts";

const RECENT = 10; // intents
const RECENT_TICKS = 60; // that are looked through for them
const HEARD = 6; // sayings
const HEARD_TICKS = 40;
const THOUGHTS = 30;

function Seen({ app, row }: { app: App; row: number }) {
  const { scene, world } = app.film;
  const tiles = seenFrom(scene, scene.xOf(row), scene.yOf(row));
  const seen = new Set(tiles.map(([x, y]) => y * world.info.width + x));
  const others: number[] = [];
  for (let at = 0; at < world.actors; at += 1) {
    if (at !== row && seen.has(scene.yOf(at) * world.info.width + scene.xOf(at))) others.push(at);
  }
  const things = new Map<string, number>();
  for (let at = 0; at < world.things; at += 1) {
    const [x, y] = [scene.thingX[at], scene.thingY[at]];
    if (x === AWAY || !world.tilesOf(at).some(([dx, dy]) => seen.has((y + dy) * world.info.width + x + dx))) continue;
    const kind = world.kindOf(at);
    const state = kind.states.length > 1 ? ` (${plain(kind.states[scene.thingState[at]])})` : "";
    const name = `${plain(kind.name)}${state}`;
    things.set(name, (things.get(name) ?? 0) + 1);
  }
  return (
    <section>
      <h3>Sees</h3>
      <p class="quiet">
        {count(tiles.length)} tiles, {others.length ? `${count(others.length)} others` : "nobody else"}
      </p>
      <div class="row-list">
        {others.slice(0, 12).map((other) => (
          <Who key={other} app={app} row={other} />
        ))}
        {others.length > 12 && <span class="quiet">and {others.length - 12} more</span>}
      </div>
      <p class="quiet">{[...things].map(([name, number]) => (number > 1 ? `${number} × ${name}` : name)).join(", ") || "no objects"}</p>
    </section>
  );
}

function Heard({ app, row, tick }: { app: App; row: number; tick: number }) {
  const heard = heardBy(app.film, app.places, row, tick, HEARD_TICKS, HEARD);
  if (!heard.length) return null;
  return (
    <section>
      <h3>Heard and said</h3>
      <ul class="lines">
        {heard.map((one) => (
          <li key={`${one.tick} ${one.row}`}>
            <When app={app} tick={one.tick} /> <Who app={app} row={one.row} /> <Said text={one.text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Gets the ticks that the panel looks back to, wherever they are cut off. */
function usePast(app: App, tick: number): void {
  let from = tick;
  while (from > tick - RECENT_TICKS && app.film.tickFrame(from)) from -= 1;
  useEarlier(app, from <= tick - RECENT_TICKS, from);
}

/** Asks for the thoughts of a character up to a tick, anew when there can be others or no answer came; null until one does. */
function useThoughts(app: App, row: number, tick: number): Thought[] | null {
  const [answer, setAnswer] = useState<{ row: number; thoughts: Thought[] }>({ row: -1, thoughts: [] });
  const [failures, setFailures] = useState(0);
  let newest = 0;
  for (let at = tick; at > tick - 400 && app.film.tickFrame(at) && !newest; at -= 1) {
    if (app.film.marksAt(at).some((mark) => mark.row === row)) newest = at;
  }
  const key = `${row} ${newest || Math.floor(tick / 16)}`;
  useEffect(() => {
    let current = true;
    let again = 0;
    app.source
      .thoughts(row, tick, THOUGHTS)
      .then((thoughts) => current && setAnswer({ row, thoughts }))
      .catch(() => {
        if (current) again = window.setTimeout(() => setFailures((times) => times + 1), AGAIN_MS);
      });
    return () => {
      current = false;
      window.clearTimeout(again);
    };
  }, [key, failures]);
  return answer.row === row ? answer.thoughts.filter((thought) => thought.tick <= tick) : null;
}

function ThoughtView({ thought }: { thought: Thought }) {
  const tokens = [thought.prompt_tokens, thought.completion_tokens].map((value) => (value === null ? "?" : count(value)));
  return (
    <div class="thought">
      {thought.error_type ? (
        <p class="bad">
          No answer: {thought.error_type}. <Said text={thought.error} />
        </p>
      ) : (
        <p class="reply">
          <Said text={thought.reply} />
        </p>
      )}
      <dl class="facts">
        <dt>Asked for</dt>
        <dd>{thought.kind || "a plan"}</dd>
        <dt>Model</dt>
        <dd>{thought.model || thought.client || "unknown"}{thought.provider ? ` at ${thought.provider}` : ""}</dd>
        <dt>Took</dt>
        <dd>
          {seconds(thought.latency_s)}
          {thought.queued_s ? `, ${seconds(thought.queued_s)} of it in the queue` : ""}
          {thought.attempts > 1 ? `, ${thought.attempts} attempts` : ""}
          {thought.late && <span class="bad">, later than the world's rule for thoughts</span>}
        </dd>
        <dt>Tokens</dt>
        <dd>
          {tokens[0]} asked{thought.cached_tokens === null ? "" : `, ${count(thought.cached_tokens)} of them cached`},{" "}
          {tokens[1]} answered
        </dd>
        <dt>Cost</dt>
        <dd>{money(thought.cost_usd)}</dd>
      </dl>
      {thought.thinking && (
        <Fold title="What it thought before it answered">
          <pre dir="auto">{thought.thinking}</pre>
        </Fold>
      )}
      <Fold title="User message">
        <pre dir="auto">{thought.user_message}</pre>
      </Fold>
      <Fold title="System prompt">
        <pre dir="auto">{thought.system_prompt}</pre>
      </Fold>
    </div>
  );
}

function Thoughts({ app, thoughts }: { app: App; thoughts: Thought[] | null }) {
  const [back, setBack] = useState(0);
  if (!thoughts?.length) {
    return (
      <section>
        <h3>Thoughts</h3>
        <p class="quiet">{thoughts ? "No model has answered it up to this tick." : "Its thoughts are not loaded yet."}</p>
      </section>
    );
  }
  const at = Math.min(back, thoughts.length - 1);
  return (
    <section>
      <h3>
        Thought of tick <When app={app} tick={thoughts[at].tick} />
        <span class="pager">
          <button type="button" disabled={at >= thoughts.length - 1} onClick={() => setBack(at + 1)} aria-label="Earlier thought">
            ‹
          </button>
          <span>
            {thoughts.length - at} / {thoughts.length}
          </span>
          <button type="button" disabled={at <= 0} onClick={() => setBack(at - 1)} aria-label="Later thought">
            ›
          </button>
        </span>
      </h3>
      <ThoughtView thought={thoughts[at]} />
    </section>
  );
}

/** Who it is, as its world says. */
function PersonView({ app, person }: { app: App; person: Person }) {
  const facts: [string, string | undefined][] = [
    ["Name", person.name],
    ["Age", person.age?.toString()],
    ["Traits", person.traits?.join(", ")],
    ["Story", person.backstory],
    ["Voice", person.voice],
    ["Wants", person.goals?.join("; ")],
    ["Fears", person.fears?.join("; ")],
    ["Knows", person.knows?.join("; ")],
    ["Secret", person.secret],
    ["Home", person.home && plain(person.home)],
    ["Work", person.work && plain(person.work)],
    ["People", person.relations?.map(([who, what]) => `${app.nameOf(who)}: ${what}`).join("; ")],
    ["Days", person.habits?.join("; ")],
    ["Team", person.team],
    ["Sign", person.sprite],
  ];
  return (
    <section class="person">
      <h3>Who it is</h3>
      <dl class="facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </>
          ))}
      </dl>
    </section>
  );
}

/** What its thoughts have put on its Blackboard, for agents that show nothing else: the newest value of each key. */
function directivesOf(thoughts: Thought[]): { key: string; json: string; tick: number }[] {
  const known = new Map<string, { json: string; tick: number }>();
  for (const thought of thoughts) {
    for (const [name, value] of Object.entries(thought.directives)) {
      if (!known.has(name)) known.set(name, { json: JSON.stringify(value), tick: thought.tick });
    }
  }
  return [...known].map(([key, entry]) => ({ key, ...entry }));
}

function Chosen({ app, row }: { app: App; row: number }) {
  const tick = app.tick.value;
  void app.loaded.value;
  const { scene, world } = app.film;
  usePast(app, tick);
  const thoughts = useThoughts(app, row, tick);
  const report = useMind(app, row, tick);
  const mind = mindAt(report, tick, (id) => app.nameOf(id));
  const directives = mind ? [] : directivesOf(thoughts ?? []);
  const now = deedAt(app, row, tick);
  const note = app.film.states.of(row, tick);
  const away = scene.isAway(row);
  const zone = away ? undefined : world.zoneAt(scene.xOf(row), scene.yOf(row));
  const person = world.personOf(row);
  return (
    <div class="inspector">
      <header>
        <div class="who-is">
          <Face app={app} row={row} large />
          <div>
            <h2>
              <bdi>{world.nameOf(row)}</bdi>
            </h2>
            <p class="quiet">
              {person?.age !== undefined && `${person.age}, `}
              {person?.work ? `works at ${zonePhrase(person.work)}` : plain(world.typeOf(row))}
              {away ? "; away: it has not come yet, or has left" : zone ? `; at ${zonePhrase(zone.name)}` : `; at ${scene.xOf(row)}, ${scene.yOf(row)}`}
            </p>
          </div>
        </div>
        <Chips status={scene.statusOf(row)} thinking={note?.state === "deliberating"} away={away} />
        <div class="buttons">
          <PlayButton app={app} row={row} />
          <button type="button" aria-pressed={app.following.value} onClick={() => app.follow(!app.following.value)}>
            Follow
          </button>
          <button type="button" aria-pressed={app.sight.value} onClick={() => (app.sight.value = !app.sight.value)}>
            Field of view
          </button>
          <button type="button" onClick={() => app.select(-1)}>
            Close
          </button>
        </div>
      </header>
      <section>
        <h3>Does at tick {tick}</h3>
        <p class={now?.bad ? "now bad" : "now"}>
          <Said text={now ? now.text : away ? "nothing: it is away" : "nothing: it asked for nothing in this tick"} />
          {now?.effects && <span class="quiet"> ({now.effects})</span>}
        </p>
        {note && (
          <p class="quiet">
            Its agent: {note.state}
            {note.detail && ", "}
            <bdi>{note.detail}</bdi>
          </p>
        )}
      </section>
      <Needs report={report} tick={tick} own={world.info.own_needs ?? []} />
      {mind && !mind.whole && <p class="quiet">Its mind is not complete yet; the rest comes within some ticks.</p>}
      {mind && <InnerLife app={app} entries={mind.board} />}
      <Heard app={app} row={row} tick={tick} />
      {mind && <Memories app={app} mind={mind} />}
      <Thoughts key={row} app={app} thoughts={thoughts} />
      {mind && <Tree app={app} mind={mind} />}
      {mind && <Board app={app} entries={restOf(mind.board)} />}
      {directives.length > 0 && <Board app={app} entries={directives} />}
      {app.source.wholeMind && world.info.mode === "replay" && <WholeMindView key={row} app={app} row={row} tick={tick} />}
      <InterviewView app={app} row={row} tick={tick} />
      {person && <PersonView app={app} person={person} />}
      {!away && <Seen app={app} row={row} />}
      <section>
        <h3>Before that</h3>
        <ul class="lines">
          {recentDeeds(app, row, tick, RECENT, RECENT_TICKS).map((one) => (
            <li key={one.tick} class={one.bad ? "bad" : ""}>
              <When app={app} tick={one.tick} /> <Said text={one.text} />
              {one.effects && <span class="quiet"> ({one.effects})</span>}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

export function Inspector({ app }: { app: App }) {
  const row = app.selected.value;
  if (row >= 0) return <Chosen app={app} row={row} />;
  return <People app={app} />;
}

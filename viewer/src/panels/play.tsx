/** What a person needs to play a character: how it is, what it hears, what is possible, and where it can go. */

import { useEffect, useRef, useState } from "preact/hooks";
import { NEED_FULL } from "../codes";
import type { App } from "../app";
import type { Moment, SeenThing, Way } from "../play/frames";
import type { Game } from "../play/game";
import { isShelf, menuOf, offerTo, pockets, type Choice, type Group } from "../play/menu";
import { distance, tileBox } from "../play/path";
import { counted, percent, plain } from "../words";
import { Said, Swatch } from "./parts";

const MOST_TEXT = 300; // characters of what is said at once
const HEARD = 12;
const AROUND = 14; // people and things in sight that are offered to go to

/** The button in the inspector that begins a game. */
export function PlayButton({ app, row }: { app: App; row: number }) {
  void app.tick.value; // who is played changes with it
  const played = app.isPlayed(row);
  const away = app.film.scene.isAway(row);
  if (!app.mayPlay.value || app.game.value) return null;
  const why = away ? "It is not in the world now" : played ? "Another person plays it" : "";
  return (
    <button type="button" class="take" aria-label={`${played && !away ? "Taken: " : "Play as "}${app.nameOf(app.world.actorIds[row])}`} disabled={why !== ""} title={why || "Take this character and act as it"} onClick={() => app.play(row)}>
      {played && !away ? "Taken" : "Play"}
    </button>
  );
}

function Meter({ name, value, good }: { name: string; value: number; good: boolean }) {
  const low = good ? value < NEED_FULL / 4 : value > (3 * NEED_FULL) / 4;
  return (
    <div class={`need ${low ? "low" : ""}`}>
      <bdi>{plain(name)}</bdi>
      <div class="gauge" role="meter" aria-label={plain(name)} aria-valuemin={0} aria-valuemax={NEED_FULL} aria-valuenow={value} aria-valuetext={percent(value)}>
        <div style={{ width: `${(100 * value) / NEED_FULL}%` }} />
      </div>
      <span class="amount">{percent(value)}</span>
    </div>
  );
}

function Body({ app, moment }: { app: App; moment: Moment }) {
  const { me } = moment;
  return (
    <>
      <div class="needs">
        <Meter name="Energy" value={me.energy} good />
        <Meter name="Hunger" value={me.hunger} good={false} />
        {me.needs.map(([name, value]) => (
          <Meter key={name} name={name} value={value} good />
        ))}
      </div>
      <p class="carried" aria-label="You carry">
        {me.inventory.length ? (
          me.inventory.map((one) => (
            <span class="chip item" key={one.kind}>
              {counted(app.world, one.kind, one.quantity)}
            </span>
          ))
        ) : (
          <span class="quiet">Your pockets are empty</span>
        )}
      </p>
    </>
  );
}

function Speak({ game }: { game: Game }) {
  const [text, setText] = useState("");
  return (
    <form
      class="speak"
      onSubmit={(event) => {
        event.preventDefault();
        game.speak(text);
        setText("");
      }}
    >
      <input
        id="speak"
        type="text"
        aria-label="Say something"
        placeholder="Say something  (Enter)"
        maxLength={MOST_TEXT}
        autocomplete="off"
        enterkeyhint="send"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <button type="submit" disabled={!text.trim()}>
        Say
      </button>
    </form>
  );
}

function Heard({ app, game }: { app: App; game: Game }) {
  const end = useRef<HTMLUListElement>(null);
  const lines = game.heard.slice(-HEARD);
  const last = lines.at(-1)?.key;
  useEffect(() => end.current?.scrollTo({ top: end.current.scrollHeight }), [last]);
  if (!lines.length) return <p class="heard quiet">Nobody has said anything near you yet.</p>;
  return (
    <ul class="lines heard" ref={end} role="log" aria-label="Heard and said" tabIndex={0}>
      {lines.map((line) => (
        <li key={line.key} class={line.who === game.entityId ? "own" : "speech"}>
          <bdi class="speaker">{line.who === game.entityId ? "You" : app.nameOf(line.who)}</bdi> <Said text={line.text} />
        </li>
      ))}
    </ul>
  );
}

function ChoiceButton({ game, choice }: { game: Game; choice: Choice }) {
  const { words, detail, missing } = choice;
  return (
    <button type="button" class="choice" disabled={missing !== ""} onClick={() => game.act(choice.intent, choice.doing)}>
      <span>{words}</span>
      {(missing || detail) && <small>{missing || detail}</small>}
    </button>
  );
}

function OfferForm({ app, game, moment, person }: { app: App; game: Game; moment: Moment; person: string }) {
  const [open, setOpen] = useState(false);
  const [kind, setKind] = useState("");
  const [amount, setAmount] = useState(1);
  const [wanted, setWanted] = useState("");
  const [price, setPrice] = useState(1);
  const { inventory } = moment.me;
  if (!inventory.length) return null;
  const given = inventory.find((one) => one.kind === kind) ?? inventory[0];
  if (!open) {
    return (
      <button type="button" class="choice" onClick={() => setOpen(true)}>
        <span>Offer a trade…</span>
      </button>
    );
  }
  const name = app.nameOf(person);
  const many = (value: number, most: number, label: string, set: (value: number) => void) => (
    <input type="number" min={1} max={most} value={value} aria-label={label} onInput={(event) => set(Math.max(1, Math.min(most, Math.round(Number(event.currentTarget.value) || 1))))} />
  );
  return (
    <form
      class="offer"
      aria-label={`Offer to ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        game.act(offerTo(person, given.kind, Math.min(amount, given.quantity), wanted, price), `offering ${name} a trade`);
        setOpen(false);
      }}
    >
      <span>You give</span>
      {many(amount, given.quantity, "How many you give", setAmount)}
      <select aria-label="What you give" value={given.kind} onChange={(event) => setKind(event.currentTarget.value)}>
        {inventory.map((one) => (
          <option key={one.kind} value={one.kind}>
            {plain(one.kind)}
          </option>
        ))}
      </select>
      <span>for</span>
      {many(price, 999, "How many you want", setPrice)}
      <select aria-label="What you want" value={wanted} onChange={(event) => setWanted(event.currentTarget.value)}>
        <option value="">nothing</option>
        {app.world.info.items.map((item) => (
          <option key={item} value={item}>
            {plain(item)}
          </option>
        ))}
      </select>
      <button type="submit">Offer</button>
      <button type="button" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}

function GroupView({ app, game, moment, group }: { app: App; game: Game; moment: Moment; group: Group }) {
  return (
    <section class="group" aria-label={group.title}>
      <h3>
        {group.person && <Swatch id={group.person} />}
        <bdi>{group.title}</bdi>
        {group.detail && <span class="quiet">{group.detail}</span>}
      </h3>
      <div class="choices">
        {group.choices.map((choice) => (
          <ChoiceButton key={choice.key} game={game} choice={choice} />
        ))}
        {group.person && <OfferForm app={app} game={game} moment={moment} person={group.person} />}
      </div>
    </section>
  );
}

interface Place {
  key: string;
  swatch: string;
  words: string;
  far: number;
  go: () => void;
}

/** Only things with which something can be done; of each kind the nearest. */
function placesOf(app: App, game: Game, moment: Moment): Place[] {
  const { x, y } = moment.me;
  const found: Place[] = moment.people.map((one) => {
    const name = app.nameOf(one.id);
    return { key: one.id, swatch: one.id, words: name, far: distance(tileBox(one.x, one.y), x, y), go: () => game.goToPerson(one, name) };
  });
  const nearest = new Map<string, SeenThing>();
  for (const thing of moment.things) {
    const kind = game.rules.kinds.get(thing.kind);
    if (!thing.verbs.length && !thing.items.length && !kind?.container) continue;
    if (thing.kind === "ground" && isShelf(moment, game.rules, thing)) continue;
    const known = nearest.get(thing.kind);
    if (!known || distance(thing, x, y) < distance(known, x, y)) nearest.set(thing.kind, thing);
  }
  for (const thing of nearest.values()) {
    const name = thing.kind === "ground" ? thing.items.map((one) => plain(one.kind)).join(", ") : plain(thing.kind);
    found.push({ key: thing.id, swatch: "", words: name, far: distance(thing, x, y), go: () => game.goToThing(thing, name) });
  }
  return found.filter((one) => one.far > 1).sort((one, other) => one.far - other.far).slice(0, AROUND);
}

function Around({ app, game, moment }: { app: App; game: Game; moment: Moment }) {
  const places = placesOf(app, game, moment);
  if (!places.length) return null;
  return (
    <section class="group" aria-label="Go to">
      <h3>Go to</h3>
      <div class="places">
        {places.map((one) => (
          <button key={one.key} type="button" aria-pressed={game.goal?.thing === one.key || game.goal?.person === one.key} onClick={one.go}>
            {one.swatch && <Swatch id={one.swatch} />}
            <bdi>{one.words}</bdi>
            <small>{one.far}</small>
          </button>
        ))}
      </div>
    </section>
  );
}

function EchoLine({ game }: { game: Game }) {
  const { echo, phase, problem } = game;
  const words: Record<string, string> = { chosen: "…", sent: "…", done: " ✓", failed: "" };
  let text = "Move with the arrows, or tap the map";
  let state = "idle";
  if (phase === "joining") [text, state] = ["Taking the character", "chosen"];
  else if (phase === "reconnecting") [text, state] = [problem, "failed"];
  else if (echo) [text, state] = [`${echo.words.charAt(0).toUpperCase()}${echo.words.slice(1)}${words[echo.state]}`, echo.state];
  return (
    <p class={`echo ${state}`} role="status">
      <Said text={text} />
    </p>
  );
}

function TokenAgain({ app }: { app: App }) {
  const [token, setToken] = useState("");
  return (
    <form
      class="speak"
      onSubmit={(event) => {
        event.preventDefault();
        app.playAgain(token.trim());
      }}
    >
      <input type="password" aria-label="Token of the world's operator" placeholder="Token of the world's operator" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
      <button type="submit" disabled={!token.trim()}>
        Play
      </button>
    </form>
  );
}

export function PlayPanel({ app, game }: { app: App; game: Game }) {
  void app.gameVersion.value;
  const { moment } = game;
  const name = app.nameOf(game.entityId);
  if (game.over) {
    return (
      <div class="play-panel ended">
        <h2>You no longer play {name}</h2>
        <p role="alert">{game.problem}</p>
        {game.needsToken && <TokenAgain app={app} />}
        <button type="button" onClick={() => app.leave()}>
          Go on watching
        </button>
      </div>
    );
  }
  return (
    <div class="play-panel">
      <header>
        <h2>
          <Swatch id={game.entityId} />
          <span>
            You are <bdi>{name}</bdi>
          </span>
          <button type="button" class="leave" onClick={() => app.leave()}>
            Leave
          </button>
        </h2>
        <EchoLine game={game} />
        <Speak game={game} />
      </header>
      {moment && (
        <div class="body play-body" tabIndex={0}>
          <Heard app={app} game={game} />
          {menuOf(moment, game.rules, (id) => app.nameOf(id)).map((group) =>
            group.key === "self" ? null : <GroupView key={group.key} app={app} game={game} moment={moment} group={group} />,
          )}
          <Around app={app} game={game} moment={moment} />
          <section class="group" aria-label="You">
            <h3>You</h3>
            <Body app={app} moment={moment} />
            <div class="choices">
              {[...pockets(moment, game.rules), ...(menuOf(moment, game.rules, (id) => app.nameOf(id)).at(-1)?.choices ?? [])].map((choice) => (
                <ChoiceButton key={choice.key} game={game} choice={choice} />
              ))}
            </div>
          </section>
        </div>
      )}
    </div>
  );
}

const PAD: [way: Way | "", sign: string, words: string][] = [
  ["NW", "↖", "north-west"],
  ["N", "↑", "north"],
  ["NE", "↗", "north-east"],
  ["W", "←", "west"],
  ["", "■", "stop"],
  ["E", "→", "east"],
  ["SW", "↙", "south-west"],
  ["S", "↓", "south"],
  ["SE", "↘", "south-east"],
];

/** Big buttons for thumbs. */
export function Pad({ app }: { app: App }) {
  const game = app.game.value;
  void app.gameVersion.value;
  if (!game || game.over) return null;
  return (
    <div class="pad" role="group" aria-label="Walk">
      {PAD.map(([way, sign, words]) => (
        <button
          key={words}
          type="button"
          aria-label={words}
          onPointerDown={(event) => {
            event.preventDefault();
            if (way) game.hold(way);
            else game.stop();
          }}
          onPointerUp={() => game.hold(null)}
          onPointerCancel={() => game.hold(null)}
          onPointerLeave={() => game.hold(null)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            if (way) game.step(way);
            else game.stop();
          }}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}

/** Branch from here: the button beside the timeline, and the form of what is changed at the tick that is shown. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import type { BranchState, Change } from "../lab/door";
import type { RunBench } from "../lab/bench";
import { count } from "../words";
import { Said } from "./parts";

interface Kind {
  title: string;
  who: "actor" | "thing" | "none";
  what?: (app: App, change: Change) => string[]; // what of it is changed
  values?: (app: App, change: Change) => string[]; // if only these are possible
  hint: string;
}

const RULES = ["inventory_limit", "gifts_need_consent", "offer_ticks", "text_limit_chars"];
const PERSONA = ["voice", "traits", "backstory", "age", "home", "work"];

const KINDS: Record<string, Kind> = {
  say: { title: "says", who: "actor", hint: "The mill is on fire!" },
  remember: { title: "remembers", who: "actor", hint: "Gita has a feast at the square." },
  forget: { title: "forgets memory number", who: "actor", hint: "17" },
  item: { title: "has", who: "actor", what: (app) => app.world.info.items, hint: "3" },
  persona: { title: "is another in", who: "actor", what: () => PERSONA, hint: "in rhymes" },
  remove: { title: "leaves the world", who: "actor", hint: "" },
  state: {
    title: "is now",
    who: "thing",
    values: (app, change) => {
      const thing = app.world.thingRowOf.get(change.who);
      return thing === undefined ? [] : app.world.kindOf(thing).states;
    },
    hint: "",
  },
  rule: { title: "A rule is another", who: "none", what: () => RULES, hint: "a number; 1 is yes, 0 is no" },
  model: { title: "Another model is asked", who: "none", hint: "the model's name" },
};

const changeable = (app: App): string[] => app.world.thingIds.filter((_, thing) => app.world.kindOf(thing).states.length > 1);

/** A change of a kind, with the first of everything that can be chosen. */
function begun(app: App, kind: string, who = ""): Change {
  const { who: whose, what, values } = KINDS[kind];
  const selected = app.selected.peek();
  const ids = whose === "actor" ? app.world.actorIds : changeable(app);
  const first = whose === "none" ? "" : whose === "actor" && selected >= 0 ? app.world.actorIds[selected] : (ids[0] ?? "");
  const change = { kind, who: ids.includes(who) ? who : first, what: "", value: "" };
  change.what = what?.(app, change)[0] ?? "";
  change.value = values?.(app, change)[0] ?? "";
  return change;
}

interface ChoiceOf {
  label: string;
  value: string;
  options: string[];
  choose: (value: string) => void;
  nameOf?: (option: string) => string;
}

function Choice({ label, value, options, choose, nameOf = (option) => option }: ChoiceOf) {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {options.map((one) => (
        <option key={one} value={one}>
          {nameOf(one)}
        </option>
      ))}
    </select>
  );
}

function ChangeRow({ app, change, set, remove }: { app: App; change: Change; set: (change: Change) => void; remove: () => void }) {
  const kind = KINDS[change.kind];
  const values = kind.values?.(app, change);
  const ids = kind.who === "actor" ? app.world.actorIds : changeable(app);
  return (
    <li class="change">
      {kind.who !== "none" && <Choice label="Who or what" value={change.who} options={ids} choose={(who) => set(begun(app, change.kind, who))} nameOf={(id) => app.nameOf(id)} />}
      <select aria-label="What is changed" value={change.kind} onChange={(event) => set(begun(app, event.currentTarget.value, change.who))}>
        {Object.entries(KINDS).map(([name, { title, who }]) => (
          <option key={name} value={name} disabled={who === "thing" && !changeable(app).length}>
            {title}
          </option>
        ))}
      </select>
      {kind.what && <Choice label="Which" value={change.what} options={kind.what(app, change)} choose={(what) => set({ ...change, what })} />}
      {values ? (
        <Choice label="State" value={change.value} options={values} choose={(value) => set({ ...change, value })} />
      ) : (
        change.kind !== "remove" && (
          <input
            type="text"
            class="wide"
            aria-label="Value"
            placeholder={kind.hint}
            maxLength={280}
            required
            value={change.value}
            onInput={(event) => set({ ...change, value: event.currentTarget.value })}
          />
        )
      )}
      <button type="button" class="drop" onClick={remove} aria-label="Leave this change out" title="Leave this change out">
        ×
      </button>
    </li>
  );
}

const share = (branch: BranchState): number => Math.min(1, (branch.tick ?? 0) / Math.max(1, branch.of ?? 1));

function Outcome({ bench, branch }: { bench: RunBench; branch: BranchState }) {
  const id = branch.run_id ?? "";
  if (branch.state === "living") {
    return (
      <div role="status">
        <progress value={share(branch)} />
        <p class="quiet">
          <bdi>{id}</bdi>: tick {count(branch.tick ?? 0)} of {count(branch.of ?? 0)}. The past is lived again first.
        </p>
      </div>
    );
  }
  if (branch.state === "failed") {
    return (
      <p class="bad" role="alert">
        <Said text={branch.why ?? "It failed."} />
      </p>
    );
  }
  return (
    <div role="status">
      <p>
        <bdi>{id}</bdi> is there, with {count(branch.tick ?? 0)} ticks.
      </p>
      {branch.said && <p class="bad">{branch.said}</p>}
      <div class="buttons">
        <button
          type="button"
          class="take"
          onClick={() => {
            bench.forgetBranch();
            void bench.putBeside(id);
          }}
        >
          Watch side by side
        </button>
        <button type="button" onClick={() => bench.open(id)}>
          Show it alone
        </button>
      </div>
    </div>
  );
}

function Form({ app, bench }: { app: App; bench: RunBench }) {
  const tick = app.tick.value;
  const [changes, setChanges] = useState<Change[]>(() => [begun(app, "say")]);
  const [replies, setReplies] = useState<"anew" | "keep">("anew");
  const [ticks, setTicks] = useState("");
  const branch = bench.branch.value;
  const set = (place: number, change: Change | null) => setChanges(changes.flatMap((one, at) => (at === place ? (change ? [change] : []) : [one])));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void bench.order({ tick, changes, replies, ...(ticks ? { ticks: Number(ticks) } : {}) });
      }}
    >
      <h2>Branch after tick {count(tick)}</h2>
      <p class="quiet">A new run with the same past up to here, exactly. In the next tick this is otherwise:</p>
      <ul class="changes">
        {changes.map((change, place) => (
          <ChangeRow key={place} app={app} change={change} set={(one) => set(place, one)} remove={() => set(place, null)} />
        ))}
        {!changes.length && <li class="quiet">Nothing: the branch comes out like this run.</li>}
      </ul>
      <div class="buttons">
        <button type="button" onClick={() => setChanges([...changes, begun(app, "remember")])} disabled={changes.length >= 20}>
          Another change
        </button>
      </div>
      <div class="fields">
        <label>
          Replies of models
          <select value={replies} onChange={(event) => setReplies(event.currentTarget.value as "anew" | "keep")}>
            <option value="anew">ask anew</option>
            <option value="keep">keep where the prompt is the same</option>
          </select>
        </label>
        <label>
          Ticks to go on
          <input type="number" min={1} max={100000} placeholder={`${Math.max(0, app.film.span.last - tick)}`} value={ticks} onInput={(event) => setTicks(event.currentTarget.value)} />
        </label>
      </div>
      {branch.state !== "none" && <Outcome bench={bench} branch={branch} />}
      <div class="buttons">
        <button type="submit" class={branch.state === "done" ? "" : "take"} disabled={branch.state === "living"}>
          Branch
        </button>
        <button type="button" onClick={() => bench.forgetBranch()}>
          {branch.state === "living" ? "Hide" : "Close"}
        </button>
      </div>
    </form>
  );
}

/** The form as the browser's own dialog. */
export function BranchDialog({ app }: { app: App }) {
  const bench = app.bench.value;
  const open = bench?.ordering.value ?? false;
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    else if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  if (!bench) return null;
  return (
    <dialog
      class="help branch"
      aria-label="Branch from here"
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault();
        bench.forgetBranch();
      }}
    >
      {open && <Form app={app} bench={bench} />}
    </dialog>
  );
}

/** The button beside the timeline; while a branch is made it tells how far that is. */
export function BranchButton({ app }: { app: App }) {
  const bench = app.bench.value;
  if (!bench) return null;
  const branch = bench.branch.value;
  const living = branch.state === "living";
  const words = living ? `Branching ${Math.round(100 * share(branch))} %` : "Branch from here";
  return (
    <button
      type="button"
      class="branch-here"
      aria-label={words}
      title={living ? "A branch is being made" : "A new run with this past, and something changed at this tick (b)"}
      onClick={() => {
        app.player.playing = false;
        bench.ordering.value = true;
      }}
    >
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M4 2v12M4 9c0-4 8-2 8-6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" />
      </svg>
      <span>{words}</span>
    </button>
  );
}

/** What a mind shows of itself, in words: mood, choice, day, promises, people and talk. The rest stays on the Blackboard. */

import type { ComponentChildren } from "preact";
import type { App } from "../app";
import { valueOf, type BoardEntry } from "../frames/mind";
import { plain, zonePhrase } from "../words";
import { When } from "./parts";

const PEOPLE = 8; // that are shown
const SHOWN = new Set(["mood", "choice", "plan", "today", "promises", "people", "talk", "remembers"]);
const ERRAND = /^(?<time>\d\d:\d\d) (?<what>.*): (?<state>[^:]+)$/s;
const PROMISE = /^(?<from>.+?) to (?<to>.+?): (?<what>.*), (?<state>[a-z ]+)$/s;
const MARKS: Record<string, string> = { done: "✓", kept: "✓", failed: "✗", broken: "✗", missed: "✗", waiting: "·", open: "·", going: "▸" };

interface Known {
  talks?: number;
  liking?: number;
  trust?: number;
}

/** Return the entries that are not put into words here. */
export function restOf(entries: BoardEntry[]): BoardEntry[] {
  return entries.filter(({ key }) => !SHOWN.has(key));
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : []);

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Mark({ state }: { state: string }) {
  return (
    <span class={`outcome state-${state}`} title={state} role="img" aria-label={state}>
      {MARKS[state] ?? "▸"}
    </span>
  );
}

/** "meet people, anywhere", "meet people at the inn", "make bread at the bakery". */
export function errand(what: string): string {
  const [deed, place] = what.split(/ at (.*)/s, 2);
  const words = deed === "meet" ? "meet people" : deed;
  if (!place) return deed === "meet" ? `${words}, anywhere` : words;
  return `${words} at ${zonePhrase(place)}`;
}

function Today({ lines }: { lines: string[] }) {
  return (
    <ul class="errands">
      {lines.map((line, at) => {
        const found = ERRAND.exec(line)?.groups;
        return (
          <li key={at} class={`state-${found?.state ?? ""}`}>
            <Mark state={found?.state ?? ""} />
            <span class="time">{found?.time ?? ""}</span>
            <bdi>{found ? errand(found.what) : line}</bdi>
          </li>
        );
      })}
    </ul>
  );
}

function Promises({ app, lines }: { app: App; lines: string[] }) {
  return (
    <ul class="errands">
      {lines.map((line, at) => {
        const found = PROMISE.exec(line)?.groups;
        return (
          <li key={at} class={`state-${found?.state ?? ""}`}>
            <Mark state={found?.state ?? ""} />
            <bdi>{found ? `${app.nameOf(found.from)} promised ${app.nameOf(found.to)} ${found.what}` : line}</bdi>
            <span class="quiet">{found?.state}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Bar({ name, value }: { name: string; value: number }) {
  const share = Math.min(1, Math.abs(value));
  return (
    <span class="leaning" role="meter" aria-label={name} aria-valuemin={-1} aria-valuemax={1} aria-valuenow={value} title={`${name} ${value.toFixed(2)}`}>
      <span class={value < 0 ? "less" : "more"} style={{ width: `${50 * share}%` }} />
    </span>
  );
}

function Relations({ app, people }: { app: App; people: Record<string, Known> }) {
  const weight = ({ talks = 0, liking = 0, trust = 0 }: Known): number => Math.abs(liking) + Math.abs(trust) + talks / 100;
  const all = Object.entries(people).sort(([, one], [, other]) => weight(other) - weight(one));
  return (
    <table class="relations">
      <thead>
        <tr>
          <th scope="col">
            <span class="unseen">Name</span>
          </th>
          <th scope="col">likes</th>
          <th scope="col">trusts</th>
          <th scope="col">talks</th>
        </tr>
      </thead>
      <tbody>
        {all.slice(0, PEOPLE).map(([name, { talks = 0, liking = 0, trust = 0 }]) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{app.nameOf(name)}</bdi>
            </th>
            <td>
              <Bar name="liking" value={liking} />
            </td>
            <td>
              <Bar name="trust" value={trust} />
            </td>
            <td>{talks}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function InnerLife({ app, entries }: { app: App; entries: BoardEntry[] }) {
  const known = new Map(entries.map(({ key, json, tick }) => [key, { value: valueOf(json), tick }]));
  const get = (key: string): unknown => known.get(key)?.value;
  const mood = get("mood");
  const choice = get("choice");
  const plan = (get("plan") as { text?: unknown } | null | undefined)?.text;
  const talk = get("talk") as { with?: unknown; lines?: unknown; my_turn?: unknown } | null | undefined;
  const people = get("people");
  const wants = typeof choice === "string" ? choice : typeof plan === "string" ? plan : "";
  const today = texts(get("today"));
  const promises = texts(get("promises"));
  const since = known.get("choice")?.tick ?? known.get("plan")?.tick;
  const partner = talk?.with ? (Array.isArray(talk.with) ? talk.with : [talk.with]).map((id) => app.nameOf(String(id))).join(", ") : "";
  const isKnown = people !== null && typeof people === "object" && Object.keys(people).length > 0;
  return (
    <>
      {(wants || typeof mood === "string" || partner) && (
        <Part title="On its mind">
          <p>
            {typeof mood === "string" && <span class={`mood ${mood}`}>{mood}</span>}
            {wants && (
              <>
                {" "}
                wants to <bdi>{plain(wants)}</bdi>
                {since !== undefined && (
                  <>
                    {" since "}
                    <When app={app} tick={since} />
                  </>
                )}
              </>
            )}
          </p>
          {partner && (
            <p class="quiet">
              In a talk with {partner}
              {typeof talk?.lines === "number" && `, ${talk.lines} ${talk.lines === 1 ? "line" : "lines"} so far`}
              {talk?.my_turn ? "; its turn" : ""}
            </p>
          )}
        </Part>
      )}
      {today.length > 0 && (
        <Part title="Today">
          <Today lines={today} />
        </Part>
      )}
      {promises.length > 0 && (
        <Part title="Promises">
          <Promises app={app} lines={promises} />
        </Part>
      )}
      {isKnown && (
        <Part title="People">
          <Relations app={app} people={people as Record<string, Known>} />
        </Part>
      )}
    </>
  );
}

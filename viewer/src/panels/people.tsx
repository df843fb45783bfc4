/** All characters at the tick that is shown: face, mood, place, and what each of them does. */

import { useEffect, useState } from "preact/hooks";
import { Status } from "../codes";
import type { App } from "../app";
import { css, shirtOf } from "../draw/colours";
import { mindAt, textOf } from "../frames/mind";
import { count, plain } from "../words";
import { deedAt } from "./deeds";

const MOST = 200; // characters in the list
const MOODS_UP_TO = 24; // characters; minds of more are read one by one, when they are chosen
const MOOD_TICKS = 10; // after which moods are read anew
const SAID_TICKS = 6; // for which a line stands for what a character does

/** The face of a character: its sign or its first letter, on the colour of its shirt. */
export function Face({ app, row, large = false }: { app: App; row: number; large?: boolean }) {
  const { world } = app;
  const letter = world.personOf(row)?.sprite || [...world.nameOf(row)][0]?.toUpperCase() || "?";
  return (
    <span class={large ? "face large" : "face"} style={{ background: css(shirtOf(world.actorIds[row])) }} aria-hidden="true">
      {letter}
    </span>
  );
}

interface Glimpse {
  mood: string;
  wants: string;
}

/** Reads the moods and wishes of few characters now and then. */
function useGlimpses(app: App, tick: number): Map<number, Glimpse> {
  const [glimpses, setGlimpses] = useState(new Map<number, Glimpse>());
  const few = app.world.actors <= MOODS_UP_TO;
  const key = few ? Math.floor(tick / MOOD_TICKS) : -1;
  useEffect(() => {
    if (!few) return;
    let current = true;
    const rows = [...Array(app.world.actors).keys()];
    const read = async (row: number): Promise<[number, Glimpse]> => {
      const mind = mindAt(await app.source.mind(row, tick), tick);
      const text = (wanted: string): string => textOf(mind?.board.find(({ key }) => key === wanted)?.json);
      return [row, { mood: text("mood"), wants: text("choice") }];
    };
    Promise.all(rows.map(read))
      .then((found) => current && setGlimpses(new Map(found)))
      .catch(() => {}); // the list does without; it asks again some ticks later
    return () => {
      current = false;
    };
  }, [key]);
  return glimpses;
}

/** What a character does, in a few words: what it just said, its deed, or its state. */
function doing(app: App, row: number, tick: number, wants: string): { text: string; kind: string } {
  const { scene } = app.film;
  if (scene.isAway(row)) return { text: "away", kind: "quiet" };
  for (let at = tick; at > tick - SAID_TICKS; at -= 1) {
    const said = app.speechAt(at).find((one) => one.row === row);
    if (said) return { text: `“${said.text}”`, kind: "speech" };
  }
  const status = scene.statusOf(row);
  if (status & Status.INCAPACITATED) return { text: "too weak to go on", kind: "bad" };
  if (status & Status.ASLEEP) return { text: "asleep", kind: "quiet" };
  if (status & Status.UNCONTROLLED) return { text: "no agent controls it", kind: "quiet" };
  const deed = deedAt(app, row, tick);
  if (wants && !deed?.bad && !deed?.effects) return { text: `wants to ${plain(wants)}`, kind: "quiet" };
  return { text: deed ? deed.text : "waits", kind: deed?.bad ? "bad" : "quiet" };
}

export function People({ app }: { app: App }) {
  const tick = app.tick.value;
  void app.loaded.value;
  const { scene, world } = app.film;
  const glimpses = useGlimpses(app, tick);
  const thinking = app.thinking();
  const rows = [...Array(world.actors).keys()];
  const shown = rows.sort((one, other) => Number(scene.isAway(one)) - Number(scene.isAway(other))).slice(0, MOST);
  return (
    <div class="people">
      <p class="quiet">Choose a character, here or on the map, to see what it perceives, does and thinks.</p>
      <ul>
        {shown.map((row) => {
          const { text, kind } = doing(app, row, tick, glimpses.get(row)?.wants ?? "");
          const zone = scene.isAway(row) ? undefined : world.zoneAt(scene.xOf(row), scene.yOf(row));
          const mood = glimpses.get(row)?.mood;
          return (
            <li key={row}>
              <button type="button" class="person-row" onClick={() => app.visit(row)}>
                <Face app={app} row={row} />
                <span class="words">
                  <span class="title">
                    <bdi class="name">{world.nameOf(row)}</bdi>
                    {mood && <span class={`mood ${mood}`}>{mood}</span>}
                    {thinking.has(row) && <span class="mood thinking">thinking</span>}
                    {zone && <span class="place">{plain(zone.name)}</span>}
                  </span>
                  <span class={`does ${kind}`} dir="auto">
                    {text}
                  </span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {rows.length > MOST && <p class="quiet">and {count(rows.length - MOST)} more; find them by name above</p>}
    </div>
  );
}

/** Small pieces that several panels are made of. Texts of characters only ever become text nodes. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Status } from "../codes";
import type { App } from "../app";
import { css, shirtOf } from "../draw/colours";

export const AGAIN_MS = 1000; // until the server is asked again that gave no answer

export function Swatch({ id }: { id: string }) {
  return <span class="swatch" style={{ background: css(shirtOf(id)) }} aria-hidden="true" />;
}

/** A character's name that leads to it. */
export function Who({ app, row }: { app: App; row: number }) {
  if (row < 0) return null;
  const id = app.world.actorIds[row];
  return (
    <button type="button" class="who" onClick={() => app.visit(row)} title={`Show ${id}`}>
      <Swatch id={id} />
      <bdi>{app.world.nameOf(row)}</bdi>
    </button>
  );
}

/** A tick that leads to it. */
export function When({ app, tick }: { app: App; tick: number }) {
  const go = () => {
    app.player.playing = false;
    app.seek(tick);
  };
  return (
    <button type="button" class="when" onClick={go} title={`Go to tick ${tick}`}>
      {tick}
    </button>
  );
}

export function Fold({ title, open, children }: { title: ComponentChildren; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="fold" open={open}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

export function Said({ text }: { text: string }) {
  return (
    <span class="said" dir="auto">
      {text}
    </span>
  );
}

/** The states that a character is in, as words with the colours of the badges on the map. */
export function Chips({ status, thinking, away }: { status: number; thinking: boolean; away: boolean }) {
  const chips: [string, string][] = [];
  if (away) chips.push(["away", "away"]);
  else {
    if (status & Status.UNCONTROLLED) chips.push(["uncontrolled", "nobody controls it"]);
    if (status & Status.PLAYED) chips.push(["played", "played by a person"]);
    if (status & Status.ASLEEP) chips.push(["asleep", "asleep"]);
    if (status & Status.INCAPACITATED) chips.push(["fallen", "too weak to go on"]);
  }
  if (thinking) chips.push(["thinking", "thinking"]);
  if (!chips.length) chips.push(["awake", "awake"]);
  return (
    <span class="chips">
      {chips.map(([kind, words]) => (
        <span key={kind} class={`chip ${kind}`}>
          {words}
        </span>
      ))}
    </span>
  );
}

/** Get what came before what is at hand, so that a list is not empty after a jump. */
export function useEarlier(app: App, enough: boolean, from: number): void {
  const { film } = app;
  const settled = film.tickFrame(app.tick.value) !== undefined;
  useEffect(() => {
    // A list is in no hurry: nothing of it comes before the window of a tick that one jumped to.
    if (!enough && settled && from >= film.span.first && app.tick.peek() - from < 4 * film.windowTicks) {
      void film.need(from, false).then(() => (app.loaded.value = film.version)).catch(() => {});
    }
  }, [enough, from, settled]);
}

/** The keyboard, for all that the pointer can do. */

import type { App } from "./app";
import { SPEEDS } from "./film/player";
import { TABS } from "./hash";
import type { Way } from "./play/frames";
import type { Game } from "./play/game";

const PAN = 90; // pixels

export function onKey(app: App, event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (app.help.value || app.bench.peek()?.ordering.value) return; // a dialog has the keyboard for itself
  const game = app.game.peek();
  if (game && !game.over) return void onPlayKey(app, game, event);
  if (event.key === "Escape") {
    if (target.matches("input[type=search]")) target.blur();
    else app.select(-1);
    return;
  }
  if (target.matches("input:not([type=range]), textarea, select")) return;
  const slides = target.matches("input[type=range]");
  const presses = target.matches("button, summary, [role=tab]");
  if ((slides && /^(Arrow|Home|End|Page)/.test(event.key)) || (presses && (event.key === " " || event.key === "Enter"))) return;
  const act = actionOf(app, event);
  if (!act) return;
  event.preventDefault();
  act();
}

const UP = { ArrowUp: "N", w: "N" };
const DOWN = { ArrowDown: "S", s: "S" };
const LEFT = { ArrowLeft: "W", a: "W" };
const RIGHT = { ArrowRight: "E", d: "E" };
const ARROWS: Record<string, string> = { ...UP, ...DOWN, ...LEFT, ...RIGHT };
const down = new Set<string>(); // parts of the direction that are held

/** The direction of the keys that are held; opposite ones cancel each other. */
export function wayOf(parts: ReadonlySet<string>): Way | null {
  const upright = parts.has("N") === parts.has("S") ? "" : parts.has("N") ? "N" : "S";
  const across = parts.has("W") === parts.has("E") ? "" : parts.has("W") ? "W" : "E";
  return ((upright + across) as Way) || null;
}

function onPlayKey(app: App, game: Game, event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (target.matches("input, textarea, select")) return;
  const part = ARROWS[event.key];
  const presses = target.matches("button, summary") && (event.key === " " || event.key === "Enter");
  if (part) {
    down.add(part);
    if (!event.repeat) game.hold(wayOf(down));
  } else if (presses) return;
  else if (event.key === "Enter" || event.key === "t") document.getElementById("speak")?.focus();
  else if (event.key === " " || event.key === "Escape") game.stop();
  else if (event.key === "q") app.map?.camera.zoom(1 / 1.3);
  else if (event.key === "e") app.map?.camera.zoom(1.3);
  else if (event.key === "?") app.help.value = true;
  else return;
  event.preventDefault();
}

export function onKeyUp(app: App, event: KeyboardEvent): void {
  const part = ARROWS[event.key];
  if (!part) return;
  down.delete(part);
  const game = app.game.peek();
  if (!game || game.over) down.clear();
  else game.keep(wayOf(down));
}

function actionOf(app: App, event: KeyboardEvent): (() => void) | null {
  const { film, world } = app;
  const camera = app.map?.camera;
  const by = event.shiftKey ? 10 : 1;
  const faster = (step: number) => {
    const at = SPEEDS.indexOf(app.player.speed);
    app.setSpeed(SPEEDS[Math.min(Math.max(at + step, 0), SPEEDS.length - 1)]);
  };
  const other = (step: number) => {
    if (world.actors) app.visit((app.selected.peek() + step + world.actors) % world.actors);
  };
  const pan = (x: number, y: number) => {
    app.follow(false);
    camera?.pan(x, y, false);
  };
  const keys: Record<string, () => void> = {
    " ": () => app.toggle(),
    ",": () => app.step(-by),
    ".": () => app.step(by),
    ArrowLeft: () => app.step(-by),
    ArrowRight: () => app.step(by),
    n: () => app.jump(["said", "answers", "outages"], 1),
    p: () => app.jump(["said", "answers", "outages"], -1),
    Home: () => app.seek(film.span.first),
    End: () => app.seek(film.span.last),
    l: () => film.span.live && app.goLive(),
    "-": () => faster(-1),
    "+": () => faster(1),
    "=": () => faster(1),
    w: () => pan(0, PAN),
    s: () => pan(0, -PAN),
    a: () => pan(PAN, 0),
    d: () => pan(-PAN, 0),
    q: () => camera?.zoom(1 / 1.3),
    e: () => camera?.zoom(1.3),
    "0": () => camera?.fit(false),
    "[": () => other(-1),
    "]": () => other(1),
    f: () => app.follow(!app.following.peek()),
    v: () => (app.sight.value = !app.sight.peek()),
    b: () => app.bench.peek() && (app.bench.peek()!.ordering.value = true),
    "/": () => document.getElementById("find")?.focus(),
    "?": () => (app.help.value = true),
  };
  TABS.forEach((tab, at) => {
    keys[String(at + 1)] = () => {
      app.tab.value = tab;
      app.panel.value = true;
    };
  });
  return keys[event.key] ?? null;
}

/** Opens the page: finds where the frames come from, and puts map and panels together. */

import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { App } from "./app";
import { MapView } from "./draw/map";
import { baseOf } from "./lab/door";
import { ClipSource, HttpSource, TokenNeeded, type Source } from "./film/source";
import { onKey, onKeyUp } from "./keys";
import { BesideMap } from "./panels/beside_map";
import { BranchDialog } from "./panels/branch";
import { Help, Legend, SidePanel, TopBar } from "./panels/frame";
import { Pad } from "./panels/play";
import { Timeline } from "./panels/timeline";
import { beginTheme } from "./theme";
import "../../src/tickmind/base/pages/theme.css";
import "./style.css";
import "./lab/lab.css";

declare global {
  interface Window {
    /** For tests and measurements. */
    tickmindViewer?: { app: App; map: MapView };
  }
}

function Page({ app }: { app: App }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLDivElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let stopped = false;
    const keys = (event: KeyboardEvent) => onKey(app, event);
    const released = (event: KeyboardEvent) => onKeyUp(app, event);
    const leave = () => app.leave();
    window.addEventListener("keydown", keys);
    window.addEventListener("keyup", released);
    window.addEventListener("blur", () => app.game.peek()?.hold(null));
    window.addEventListener("pagehide", leave);
    void MapView.open(canvas.current!, overlay.current!, minimap.current!, {
      film: app.film,
      player: app.player,
      selected: () => app.selected.peek(),
      following: () => app.following.peek(),
      sight: () => app.sight.peek(),
      daylight: () => app.daylight.peek(),
      zoneNames: () => app.zoneNames.peek(),
      speech: () => app.recentSpeech(),
      thinking: () => app.thinking(),
      select: (row) => app.select(row),
      follow: (on) => app.follow(on),
      hover: (row) => (app.hovered.value = row),
      perceived: () => app.perceived(),
      tap: (x, y, row) => app.tap(x, y, row),
    }).then(
      (map) => {
        app.map = map;
        window.tickmindViewer = { app, map };
        effect(() => {
          document.getElementById("app")?.classList.toggle("playing", app.game.value !== null);
          void [app.gameVersion.value, app.sight.value, app.daylight.value, app.zoneNames.value, app.selected.value, app.panel.value];
          map.touch();
        });
        const draw = (now: number) => {
          if (stopped) return;
          map.frame(now);
          app.sync(now);
          window.requestAnimationFrame(draw);
        };
        window.requestAnimationFrame(draw);
      },
      (error: unknown) => setProblem(`The map can't be drawn: ${String(error)}. It needs WebGL 2.`),
    );
    return () => {
      stopped = true;
      window.removeEventListener("keydown", keys);
      window.removeEventListener("keyup", released);
      window.removeEventListener("pagehide", leave);
    };
  }, []);
  const beside = app.game.value ? null : (app.bench.value?.beside.value ?? null);
  const name = `Map of ${app.world.info.name} with ${app.world.actors} characters`;
  return (
    <>
      <TopBar app={app} />
      <main class={beside ? "two-maps" : undefined}>
        <div class="map" data-drawn-tick={app.drawnTick}>
          <canvas ref={canvas} role="img" aria-label={name} />
          <div class="overlay" ref={overlay} aria-hidden="true" />
          <Legend app={app} />
          <Pad app={app} />
          <canvas class="minimap" ref={minimap} role="img" aria-label="The whole map, small" />
          {app.waiting.value ? (
            <p class="waiting">Loading ticks</p>
          ) : (
            app.awaits && (
              <p class="waiting" role="status">
                {app.awaits}
              </p>
            )
          )}
          {beside && (
            <p class="of-run">
              <bdi>{app.world.info.run_id}</bdi>
            </p>
          )}
          {problem && <p class="problem">{problem}</p>}
        </div>
        {beside && <BesideMap key={beside.runId} app={app} beside={beside} />}
        <SidePanel app={app} />
      </main>
      {!app.game.value && <Timeline app={app} />}
      <Help app={app} />
      <BranchDialog app={app} />
    </>
  );
}

function TokenForm({ source, again }: { source: HttpSource; again: () => void }) {
  const [token, setToken] = useState("");
  return (
    <form
      class="gate"
      onSubmit={(event) => {
        event.preventDefault();
        source.setToken(token.trim());
        again();
      }}
    >
      <h1>This viewer requires a token</h1>
      <label>
        Token
        <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} ref={(field) => field?.focus()} />
      </label>
      <button type="submit">Look</button>
      <p class="quiet">It is in the file that was given to `tickmind viewer` with --token-file. It stays in this tab.</p>
    </form>
  );
}

async function open(): Promise<void> {
  beginTheme();
  const root = document.getElementById("app") as HTMLElement;
  const clip = await ClipSource.find();
  const source: Source = clip ?? new HttpSource(baseOf(new URLSearchParams(location.search).get("run") ?? ""));
  try {
    const app = await App.open(source);
    document.title = `${app.world.info.name} - tickmind`;
    render(<Page app={app} />, root);
  } catch (error) {
    if (error instanceof TokenNeeded && source instanceof HttpSource) {
      render(<TokenForm key={Math.random()} source={source} again={() => void open()} />, root);
      return;
    }
    const words = error instanceof Error ? error.message : String(error);
    render(
      <div class="gate" role="alert">
        <h1>Nothing to show yet</h1>
        <p>{words}</p>
        <p class="quiet">Retrying in a moment.</p>
      </div>,
      root,
    );
    window.setTimeout(() => void open(), 1500);
  }
}

void open();

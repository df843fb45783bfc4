/** The map of the run beside this one. Both maps show one tick and one place. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { MapView } from "../draw/map";
import { CoupledCameras, type Beside } from "../lab/beside";

export function BesideMap({ app, beside }: { app: App; beside: Beside }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLDivElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  const [problem, setProblem] = useState("");
  const [drawn, setDrawn] = useState<number | null>(null);
  useEffect(() => {
    let stopped = false;
    let map: MapView | null = null;
    const host = beside.host({
      selected: () => app.selected.peek(),
      following: () => false, // the first map follows, and this camera goes with its one
      sight: () => app.sight.peek(),
      daylight: () => app.daylight.peek(),
      zoneNames: () => app.zoneNames.peek(),
      select: (row) => app.select(row),
      follow: (on) => app.follow(on),
      hover: () => {},
    });
    MapView.open(canvas.current!, overlay.current!, minimap.current!, host).then(
      (opened) => {
        if (stopped) return opened.close();
        map = opened;
        app.map?.camera.fit(false); // each map has half the room
        let cameras: CoupledCameras | null = null;
        const draw = (now: number) => {
          if (stopped) return;
          if (app.map && !cameras) cameras = new CoupledCameras(app.map.camera, opened.camera);
          if (cameras?.couple()) {
            app.map?.touch();
            opened.touch();
          }
          opened.frame(now);
          setDrawn(opened.drawnTick);
          window.requestAnimationFrame(draw);
        };
        window.requestAnimationFrame(draw);
      },
      (error: unknown) => setProblem(`The second map can't be drawn: ${String(error)}.`),
    );
    return () => {
      stopped = true;
      map?.close();
    };
  }, [beside]);
  return (
    <div class="map beside" data-drawn-tick={drawn}>
      <canvas ref={canvas} role="img" aria-label={`Map of the run ${beside.runId}`} />
      <div class="overlay" ref={overlay} aria-hidden="true" />
      <canvas class="minimap" ref={minimap} aria-hidden="true" />
      <p class="of-run">
        <bdi>{beside.runId}</bdi>
      </p>
      {problem && <p class="problem">{problem}</p>}
    </div>
  );
}

/** A second run beside the first: its own film, a playhead that follows the first one's, and one camera for both maps. */

import type { MapHost } from "../draw/map";
import type { Speech } from "../draw/overlay";
import type { Camera2d } from "../draw/view";
import { Film } from "../film/film";
import { Player } from "../film/player";
import { HttpSource } from "../film/source";
import { saidIn } from "../frames/scene";
import { World } from "../frames/world";
import { baseOf, type Divergence, type RunRow } from "./door";

/** Shows the tick that another playhead shows, as soon as its frames are there. */
export class FollowingPlayer extends Player {
  constructor(
    private readonly own: Film,
    private readonly lead: { readonly position: number },
  ) {
    super(own);
  }

  override advance(): boolean {
    const { first, last } = this.own.span;
    const wanted = Math.min(Math.max(this.lead.position, first - 1), Math.max(last, first - 1));
    const tick = Math.ceil(wanted - 1e-9);
    this.waiting = !this.own.reaches(tick);
    if (this.waiting) {
      void this.own.need(tick).catch(() => {}); // the next frame asks again
      return false;
    }
    const moved = wanted !== this.position;
    this.position = wanted;
    return moved;
  }
}

/** Keeps two cameras on the same part of the map, whichever of them is moved. */
export class CoupledCameras {
  private set: [number, number, number] = [Number.NaN, 0, 0]; // what the second one was brought to

  constructor(
    private readonly one: Camera2d,
    private readonly other: Camera2d,
  ) {}

  /** Tells whether either was brought elsewhere. */
  couple(): boolean {
    const { one, other } = this;
    const [x, y, scale] = this.set;
    const moved = !Number.isNaN(x) && (other.x !== x || other.y !== y || other.scale !== scale);
    const [from, to] = moved ? [other, one] : [one, other];
    const same = from.x === to.x && from.y === to.y && from.scale === to.scale;
    if (!same) to.go(from.x, from.y, from.scale, true);
    this.set = [other.x, other.y, other.scale];
    return !same;
  }
}

interface Lead {
  readonly world: World;
  readonly player: Player;
}

export class Beside {
  readonly player: FollowingPlayer;
  divergence: Divergence | null = null;

  private constructor(
    readonly runId: string,
    readonly film: Film,
    lead: Lead,
  ) {
    this.player = new FollowingPlayer(film, lead.player);
  }

  /** Open another run of the same characters. */
  static async open(runId: string, lead: Lead): Promise<Beside> {
    const source = new HttpSource(baseOf(runId));
    const world = new World(await source.hello());
    if (world.actorIds.join("\n") !== lead.world.actorIds.join("\n")) {
      throw new Error(`${runId} has other characters, so it can't be watched beside this run`);
    }
    const film = new Film(world, source);
    film.span = await source.span();
    const beside = new Beside(runId, film, lead);
    await film.need(lead.player.tick).catch(() => {});
    return beside;
  }

  /** What the second map needs: all choices are those of the first one. */
  host(shared: Omit<MapHost, "film" | "player" | "speech" | "thinking" | "perceived" | "tap">): MapHost {
    const { film, player } = this;
    return {
      ...shared,
      film,
      player,
      speech: () => this.speech(),
      thinking: () => film.states.asking(player.tick),
      perceived: () => null,
      tap: () => {},
    };
  }

  private speech(): Speech[] {
    const { film, player } = this;
    const ticks = Math.ceil(Math.max(3, 6000 / film.world.info.tick_ms));
    const found: Speech[] = [];
    for (let tick = player.tick - ticks; tick <= player.tick; tick += 1) {
      const frame = film.tickFrame(tick);
      if (frame) for (const [row, , text] of saidIn(frame)) found.push({ row, tick, text });
    }
    return found;
  }
}

/** The last tick of the past that two runs share, by the tree of runs; null if it does not tell. */
export function forkOf(rows: RunRow[], one: string, other: string): number | null {
  const known = new Map(rows.map((row) => [row.run_id, row]));
  const past = (run: string): Map<string, number> => {
    const found = new Map<string, number>([[run, Number.POSITIVE_INFINITY]]);
    let tick = Number.POSITIVE_INFINITY;
    for (let at = known.get(run); at && at.parent && at.branched_at !== null && !found.has(at.parent); at = known.get(at.parent)) {
      tick = Math.min(tick, at.branched_at);
      found.set(at.parent, tick);
    }
    return found;
  };
  const [left, right] = [past(one), past(other)];
  const shared = [...left].filter(([run]) => right.has(run)).map(([run, tick]) => Math.min(tick, right.get(run) as number));
  const fork = Math.max(...shared);
  return shared.length && Number.isFinite(fork) ? fork : null;
}

/** What the page knows of other runs: the tree of runs, the branch that is being made, and the run beside this one. */

import { batch, signal } from "@preact/signals";
import type { Film } from "../film/film";
import type { Player } from "../film/player";
import type { World } from "../frames/world";
import { Beside, forkOf } from "./beside";
import { runAddress, type BranchOrder, type BranchState, type LabDoor, type RunRow } from "./door";

const AGAIN_MS = 700; // until the state of a branch is asked for again

interface Here {
  readonly world: World;
  readonly film: Film;
  readonly player: Player;
}

export class RunBench {
  readonly rows = signal<RunRow[] | null>(null);
  readonly branch = signal<BranchState>({ state: "none" });
  readonly ordering = signal(false); // whether the form of a branch is open
  readonly beside = signal<Beside | null>(null);
  readonly problem = signal("");
  readonly version = signal(0); // grows when the comparison with the run beside came
  private opening = "";

  constructor(
    readonly door: LabDoor,
    private readonly here: Here,
  ) {}

  get runId(): string {
    return this.here.world.info.run_id ?? "";
  }

  /** Begin with what the address names. */
  async begin(): Promise<void> {
    await this.refresh();
    const state = await this.door.branchState().catch(() => null);
    if (state?.state === "living") {
      this.branch.value = state;
      void this.follow();
    }
    const other = new URLSearchParams(location.search).get("beside");
    if (other) await this.putBeside(other);
  }

  async refresh(): Promise<void> {
    try {
      this.rows.value = await this.door.runs();
    } catch (error) {
      this.problem.value = (error as Error).message;
    }
  }

  /** The last tick of the past that this run shares with the one beside it. */
  get fork(): number | null {
    const { beside, rows } = this;
    return beside.value && rows.value ? forkOf(rows.value, this.runId, beside.value.runId) : null;
  }

  async putBeside(runId: string): Promise<void> {
    this.opening = runId;
    this.problem.value = "";
    try {
      const beside = await Beside.open(runId, this.here);
      if (this.opening !== runId) return; // another one was chosen meanwhile
      this.beside.value = beside;
      this.remember(runId);
      beside.divergence = await this.door.divergence(runId);
      this.version.value += 1;
    } catch (error) {
      if (this.opening === runId) this.problem.value = (error as Error).message;
    }
  }

  putAway(): void {
    this.opening = "";
    this.beside.value = null;
    this.remember("");
  }

  private remember(beside: string): void {
    const run = new URLSearchParams(location.search).get("run") ?? "";
    history.replaceState(null, "", runAddress(run, beside));
  }

  /** Show another run in place of this one. */
  open(runId: string): void {
    location.assign(runAddress(runId));
  }

  async order(order: BranchOrder): Promise<void> {
    try {
      this.branch.value = await this.door.branch(order);
    } catch (error) {
      this.branch.value = { state: "failed", why: (error as Error).message };
      return;
    }
    await this.follow();
  }

  private async follow(): Promise<void> {
    while (this.branch.peek().state === "living") {
      await new Promise((go) => setTimeout(go, AGAIN_MS));
      const state = await this.door.branchState().catch(() => null);
      if (state) this.branch.value = state;
    }
    await this.refresh();
  }

  forgetBranch(): void {
    batch(() => {
      if (this.branch.peek().state !== "living") this.branch.value = { state: "none" };
      this.ordering.value = false;
    });
  }
}

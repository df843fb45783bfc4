/** The launch contract for Node: `run` makes a process of a function, as a runner of tickmind expects it. */

import { closeSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Agent } from "./agent.js";
import type { LeaseStore } from "./agent.js";
import { TickmindError } from "./errors.js";
import type { Intent, Observation } from "./protocol.js";

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/** What the process is started with. */
export interface Launch {
  url: string;
  entityId: string;
  controllerId: string;
  /** The settings of the mapping. */
  settings: Record<string, unknown>;
  /** A folder of the process's own; empty if it has none. */
  stateDir: string;
  /** The secrets by their names. */
  secrets: Record<string, string>;
}

/** Read the environment, the launch file and the secrets, once at the start of the process. */
export function readLaunch(env: Record<string, string | undefined> = process.env): Launch {
  const file = env["AGENT_CONFIG_PATH"] ? readObject(readFileSync(env["AGENT_CONFIG_PATH"], "utf8")) : {};
  const listed = (file["entities"] as { entity_id: string; controller_id: string }[] | undefined) ?? [];
  if (listed.length > 1) throw new TickmindError("this agent controls one entity; set per_process: 1 in the mapping");
  const entityId = listed[0]?.entity_id ?? env["ENTITY_ID"];
  if (!entityId) throw new TickmindError("ENTITY_ID is not set, so there is no entity to control");
  const url = env["WORLD_WS_URL"];
  if (!url) throw new TickmindError("WORLD_WS_URL is not set; set it to the world's WebSocket, ws://HOST:PORT/ws/v1");
  return {
    url,
    entityId,
    controllerId: listed[0]?.controller_id || env["CONTROLLER_ID"] || `agent:${entityId}`,
    settings: (file["settings"] as Record<string, unknown> | undefined) ?? {},
    stateDir: (file["state_dir"] as string | undefined) ?? "",
    secrets: readSecrets(env),
  };
}

/** Keeps the lease in the state folder, readable for this user only, as Python agents do. */
export class LeaseFile implements LeaseStore {
  #path: string;
  #owner: { world_addr: string; controller_id: string };

  constructor(stateDir: string, worldUrl: string, controllerId: string) {
    mkdirSync(stateDir, { recursive: true, mode: PRIVATE_FOLDER });
    this.#path = join(stateDir, "lease.json");
    this.#owner = { world_addr: worldUrl, controller_id: controllerId };
  }

  load(): string | undefined {
    try {
      const kept = readObject(readFileSync(this.#path, "utf8"));
      const ours = kept["world_addr"] === this.#owner.world_addr && kept["controller_id"] === this.#owner.controller_id;
      return ours ? (kept["lease_id"] as string) : undefined;
    } catch {
      return undefined; // there is none, or it is no lease file; then the agent acquires anew
    }
  }

  save(leaseId: string): void {
    const beside = `${this.#path}.new`;
    writeFileSync(beside, JSON.stringify({ ...this.#owner, lease_id: leaseId }), { mode: PRIVATE_FILE });
    renameSync(beside, this.#path);
  }

  clear(): void {
    rmSync(this.#path, { force: true });
  }
}

/**
 * Run as the launch contract says, until SIGTERM or SIGINT; then exit with 0, or with 1 and a sentence that says why.
 *
 *     run((observation) => ({ wait: {} }));
 */
export async function run(
  act: (observation: Observation, launch: Launch) => Intent | Promise<Intent>,
  env: Record<string, string | undefined> = process.env,
): Promise<never> {
  try {
    const launch = readLaunch(env);
    const { url, entityId, controllerId, stateDir, secrets } = launch;
    const agent = new Agent({
      url,
      entityId,
      controllerId,
      ...(secrets["WORLD_TOKEN"] ? { token: secrets["WORLD_TOKEN"] } : {}),
      ...(stateDir ? { leaseStore: new LeaseFile(stateDir, url, controllerId) } : {}),
      onState: (state, why) => console.error(why ? `${state}: ${why}` : state),
    });
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void agent.close().then(leave));
    for await (const observation of agent.observations()) {
      await agent.act(await act(observation, launch));
    }
    await agent.close();
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
  return leave();
}

function leave(): never {
  process.exit(0);
}

function readObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined; // the error would show what is in it
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TickmindError("the launch file, the lease file and the secrets must each be a JSON object");
  }
  return value as Record<string, unknown>;
}

function readSecrets(env: Record<string, string | undefined>): Record<string, string> {
  const descriptor = env["AGENT_SECRETS_FD"];
  const path = env["AGENT_SECRETS_PATH"];
  if (descriptor) {
    const secrets = readObject(readFileSync(Number(descriptor), "utf8"));
    closeSync(Number(descriptor));
    return secrets as Record<string, string>;
  }
  return path ? (readObject(readFileSync(path, "utf8")) as Record<string, string>) : {};
}

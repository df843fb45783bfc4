/** The errors that an agent can't overcome by itself; breaks of the connection are none of them. */

/** All errors of this package. */
export class TickmindError extends Error {
  override name = "TickmindError";
}

/** The world or its endpoint refuses what the agent asks, and trying again would not help. */
export class RefusedError extends TickmindError {
  override name = "RefusedError";
}

/** Another process has taken the character with the secret of its lease, so this one must stop acting. */
export class ControlLostError extends TickmindError {
  override name = "ControlLostError";
}

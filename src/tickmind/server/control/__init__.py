"""Control of actors: leases, the intents of a tick, and control streams."""

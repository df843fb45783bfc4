"""Control of actors: leases, the intents of a tick, and the streams that hold them."""

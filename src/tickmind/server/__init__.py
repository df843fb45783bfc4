"""The authority over a world: ticks on time, leases, intents, and who is told what."""

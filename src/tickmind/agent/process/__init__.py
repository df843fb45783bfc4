"""The process of an agent: lease file, heartbeat, and the loop that takes control and answers each tick."""

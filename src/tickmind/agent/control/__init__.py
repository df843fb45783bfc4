"""Control of the entities of a process: streams to the world, cached views, and one act per tick."""

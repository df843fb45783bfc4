"""The state of a world: columns, maps, tables and snapshots."""

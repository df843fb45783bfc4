"""The rules of a tick: movement, objects, inventory, rest and speech."""

"""Characters: a body, a behaviour tree, a strategic layer, and the host that runs all characters of a process."""

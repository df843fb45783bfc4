"""What actors perceive, one by one or as columns."""

"""Recorded runs stepped again: what their actors observed in each tick."""

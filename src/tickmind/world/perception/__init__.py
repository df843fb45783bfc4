"""Perception of actors, one by one or as columns."""

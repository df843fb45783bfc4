"""Readers of the sections of a scenario, one for each."""

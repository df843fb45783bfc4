"""Scenarios: kinds, maps, spawns and settings, read from YAML."""

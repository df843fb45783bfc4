"""Branches: new runs whose past is that of another, up to a tick."""

"""Runs as material: branch a run at a tick, and ask its characters afterwards."""

"""Recorded runs as material: branch a run at a tick, ask its characters afterwards, and compare many runs."""

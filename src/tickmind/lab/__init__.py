"""Runs as material: experiments with many of them, and the statistics that say whether a difference is chance."""

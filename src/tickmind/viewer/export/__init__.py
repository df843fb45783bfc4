"""Clips and GIFs of a run."""

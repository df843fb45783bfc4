"""Minds of recorded runs, lived again."""

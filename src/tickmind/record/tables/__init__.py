"""The finished tables of a run: written by sealing, read tick by tick."""

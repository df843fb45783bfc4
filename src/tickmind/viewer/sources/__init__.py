"""Sources of frames: a live world or a record."""

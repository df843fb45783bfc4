"""`tickmind branch` and `tickmind interview`: commands that use recorded runs as material."""

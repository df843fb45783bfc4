"""The queue: which requests wait, which goes next and by which lane. It does no I/O: clock and timers are passed in."""

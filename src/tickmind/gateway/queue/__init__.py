"""Who waits, who goes next and by which lane; no I/O: the clock and the timers come in."""

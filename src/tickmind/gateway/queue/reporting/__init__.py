"""Reports of the queue: refusals to callers, events to watchers, figures for statistics."""

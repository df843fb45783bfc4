"""What the queue says: refusals to callers, events to watchers, figures for statistics."""

"""The loop of a run: ask the model, run its tool calls, repeat."""

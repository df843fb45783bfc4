"""Streams of model replies: chunks assembled, thinking separated, results awaited."""

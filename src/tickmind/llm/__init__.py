"""One request to any model: typed, streamed, with tools."""

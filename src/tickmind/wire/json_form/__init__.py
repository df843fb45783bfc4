"""Messages in the JSON mapping of proto3, written fast."""

"""Where a model goes, and which endpoints callers may name."""

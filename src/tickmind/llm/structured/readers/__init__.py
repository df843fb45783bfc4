"""Readers of replies: JSON, loose JSON, YAML and `key: value` lines."""

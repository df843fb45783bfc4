"""Cassettes: model calls recorded to a file and played back."""

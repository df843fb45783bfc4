"""Queries: which agents are due, what they ask, what is in flight, and the answers."""

"""Queries: who is due, what is asked, what is in flight, and what comes of it."""

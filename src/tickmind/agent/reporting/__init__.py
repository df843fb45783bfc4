"""Thoughts, statuses and insights that an agent sends to the world, with secrets masked."""

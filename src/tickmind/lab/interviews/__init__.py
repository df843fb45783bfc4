"""Interviews: questions to characters of a recorded run as they were at a tick."""

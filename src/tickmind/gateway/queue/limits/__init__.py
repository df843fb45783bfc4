"""Limits of lanes: rate limiters, learnt rates, circuits, retries and service times."""

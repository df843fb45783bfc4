"""Limits of lanes: pace, learnt rates, circuits, retries and service times."""

"""Clients that answer queries, and the workers that call them."""

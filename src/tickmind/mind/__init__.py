"""Minds: what characters remember, know of each other, promise and say. They know no tiles, leases or wires."""

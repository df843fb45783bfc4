"""Clients of a world: async and sync, with control of one entity or many."""

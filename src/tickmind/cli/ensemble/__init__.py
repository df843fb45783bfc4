"""A world, a gateway, agents and a viewer, started and stopped together."""

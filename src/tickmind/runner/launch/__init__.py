"""How a program of an agent is found, and started."""

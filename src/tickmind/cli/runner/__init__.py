"""`tickmind runner`: run an agent for every character."""

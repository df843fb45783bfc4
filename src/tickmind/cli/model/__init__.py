"""`tickmind model`: install, measure and serve weights."""

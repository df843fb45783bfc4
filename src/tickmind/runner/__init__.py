"""Keeps a world's characters alive: which agent for whom, one process or many, and what to do when one dies."""

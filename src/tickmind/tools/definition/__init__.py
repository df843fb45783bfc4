"""Tools: declared from functions or schemas, and kept in registries."""

"""GBNF grammars that hold a llama.cpp server to a schema."""

"""A character or a recorded run as a server of the Model Context Protocol (extra `mcp`).

Nothing here is imported before a command or a program asks for it: the official package takes a second to import.
"""

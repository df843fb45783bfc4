"""`tickmind mcp`: a character or a run as a server of the Model Context Protocol."""

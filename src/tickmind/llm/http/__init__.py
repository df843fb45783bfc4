"""HTTP/1.1 for model calls: connections, their pool, SSE, errors and waits."""

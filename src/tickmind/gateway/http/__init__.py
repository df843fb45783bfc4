"""HTTP/1.1 on both sides, by callbacks: callers in, providers out."""

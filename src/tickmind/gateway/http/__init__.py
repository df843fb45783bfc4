"""HTTP/1.1 by callbacks, on both sides: callers in, providers out."""

"""What a process shows of itself to operators: spans, and figures for Prometheus."""

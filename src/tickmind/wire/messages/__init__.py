"""Messages of the wire: frames, requests, service promises and limits."""

"""Inner loops for programs that learn: what they are shown, and what is in their reach."""

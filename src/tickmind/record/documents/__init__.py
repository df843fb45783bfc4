"""The parts of a world in `meta.json`, as documents of JSON and back."""

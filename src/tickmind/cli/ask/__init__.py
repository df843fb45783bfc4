"""`tickmind ask`: ask a model one question."""

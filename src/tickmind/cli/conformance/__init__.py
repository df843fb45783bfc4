"""The conformance test: whether a user's agent keeps the launch contract, claim by claim."""

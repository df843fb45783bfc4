"""Limits of what is kept of written JSON."""

from tickmind.base import Limit

MAX_KEPT_PARTS = Limit("number of parts of one kind whose JSON is kept", 8192)
MAX_KEPT_PART_BYTES = Limit("size of a part whose JSON is kept", 512, "bytes")

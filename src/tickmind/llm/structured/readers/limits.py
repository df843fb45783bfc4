"""Limits on reading a reply. Raise a limit where a model's replies are known to be larger."""

from tickmind.base import Limit

MAX_REPLY_CHARS = Limit("size of a reply that is read as an object", 1_000_000, "characters")
"""Clean JSON is read up to this size; larger replies are refused."""

MAX_REPAIR_CHARS = Limit("size of a reply that needs more than plain JSON reading", 64_000, "characters")
"""YAML, fences, prose and broken JSON are read up to this size: each is read by slower code."""

MAX_DEPTH = Limit("depth of a reply's object", 48)
MAX_CANDIDATES = Limit("number of objects looked at in one reply", 64)
MAX_LINES = Limit("number of lines that are read as `key: value` pairs", 3000)
REREADS = 2
"""Broken braces may be read from several starts, together at most this many times the reply's size."""

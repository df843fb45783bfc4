"""The documents of conditions, which are read once for the digests and again for each trial."""

from functools import lru_cache

from tickmind.base.yaml_source import Document, read_yaml

_KEPT = 4  # conditions are tried in turn, and a text of 18 kB takes a tenth of a second


@lru_cache(maxsize=_KEPT)
def read_document(text: str) -> Document:
    """Read one YAML document; callers must not change it. Raises what `read_yaml` raises."""
    return read_yaml(text)

"""Who shares the keys: sessions, which register by first use and end by silence."""

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Session:
    """One game or run. `owner` is what fair share goes by: the caller's name if callers have keys, else the session."""

    id: str
    owner: str
    weight: float = 1.0
    connected_s: float = 0.0  # monotonic
    last_seen_s: float = 0.0

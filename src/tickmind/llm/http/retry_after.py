"""Parse how long an endpoint asks its client to wait."""

import math
from collections.abc import Mapping
from datetime import UTC


def parse_retry_after(headers: Mapping[str, str], *, now_wall_s: float) -> float | None:
    """Return the wait of `retry-after-ms` or `retry-after` (seconds or an HTTP date); None if neither is usable.

    Header names are lower-case.
    """
    millis = _seconds(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _seconds(text)
    if seconds is not None or not text:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    when = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now_wall_s)


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None

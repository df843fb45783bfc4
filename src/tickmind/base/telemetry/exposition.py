"""`Exposition`: figures in the text form that Prometheus reads; a page of formatting, so no dependency."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Exposition:
    """Collect families of figures and write them as text. Names and labels are the caller's; values may be any."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> None:
        """Add something that only grows; its name ends in `_total`."""
        self._family(name, meaning, "counter", samples)

    def gauge(self, name: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> None:
        """Add something that goes up and down."""
        self._family(name, meaning, "gauge", samples)

    def histogram(
        self,
        name: str,
        meaning: str,
        bounds: Sequence[float],
        samples: Iterable[tuple[Labels, Sequence[int], float]],
    ) -> None:
        """Add durations or sizes in buckets: for each sample the counts (one more than bounds) and the sum."""
        self._head(name, meaning, "histogram")
        for labels, counts, total in samples:
            seen = 0
            for bound, count in zip((*bounds, math.inf), counts, strict=True):
                seen += count
                self._line(f"{name}_bucket", {**labels, "le": _number(bound)}, seen)
            self._line(f"{name}_sum", labels, total)
            self._line(f"{name}_count", labels, seen)

    def text(self) -> str:
        """Return all figures as text."""
        return "\n".join([*self._lines, ""])

    def _family(
        self, name: str, meaning: str, kind: Literal["counter", "gauge"], samples: Iterable[tuple[Labels, float]]
    ) -> None:
        self._head(name, meaning, kind)
        for labels, value in samples:
            self._line(name, labels, value)

    def _head(self, name: str, meaning: str, kind: str) -> None:
        self._lines.append(f"# HELP {name} {meaning}")
        self._lines.append(f"# TYPE {name} {kind}")

    def _line(self, name: str, labels: Labels, value: float) -> None:
        pairs = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))

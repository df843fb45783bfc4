"""`FairShares`: how much of a source that grows by what is left of it a mind takes, so that the source lasts."""

from dataclasses import dataclass

from tickmind.base import Limit

KEPT = 2  # of what is there, one part of so many is left for a source that doubles
MAX_SOURCES = Limit("number of shared sources of which a mind knows what it took", 200)


@dataclass(slots=True)
class _Share:
    """What a mind may take of one source in one period, and has taken."""

    period: int
    allowed: int
    taken: int = 0


class FairShares:
    """Shares of sources that double in each period: half of what is there stays, and all take as much of the rest.

        >>> shares = FairShares()
        >>> shares.left("meadow", 100, period=0, sharers=5)
        10
        >>> shares.take("meadow")
        >>> shares.left("meadow", 99, period=0, sharers=5)  # until the next period
        9

    A source with so little that a share is nothing is left alone until it has grown.
    """

    def __init__(self) -> None:
        self._shares: dict[str, _Share] = {}  # id of a source -> the share of the last period in which it was seen

    def left(self, source_id: str, stock: int, *, period: int, sharers: int) -> int:
        """Return how much of its share of a period a mind has left, at a source with so much."""
        share = self._shares.pop(source_id, None)
        if share is None or share.period != period:
            share = _Share(period, stock // KEPT // max(1, sharers))
        self._shares[source_id] = share
        if not MAX_SOURCES.allows(len(self._shares)):
            del self._shares[next(iter(self._shares))]  # the one of which it has not thought for longest
        return max(0, min(share.allowed - share.taken, stock))

    def take(self, source_id: str) -> None:
        """Note that the mind takes one from a source."""
        if source_id in self._shares:
            self._shares[source_id].taken += 1

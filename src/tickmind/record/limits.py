"""Limits of what a reader accepts. Tickmind writes far less; a file that claims more is damaged or hostile."""

from tickmind.base import Limit

MAX_FRAME_BYTES = Limit("size of one tick in the log", 96_000_000, "bytes")
MAX_META_BYTES = Limit("size of meta.json", 16_000_000, "bytes")
MAX_CHANGES = Limit("number of changes at which a run branched off", 1000)
MAX_CHECKPOINT_BYTES = Limit("size of a checkpoint", 2_000_000_000, "bytes")
MAX_PENDING_REPORTS = Limit("number of thoughts, statuses and insights pending for the next tick", 20_000)
MAX_PENDING_CHARS = Limit("length of the thoughts pending for the next tick", 16_000_000, "characters")
MAX_SEGMENT_BYTES = Limit("size of one segment of the log", 4_000_000_000, "bytes")
MAX_SEGMENT_TICKS = Limit("number of ticks in one segment of the log", 1_000_000)
MAX_DELTAS = Limit("number of changes of objects in one tick", 1_000_000)
MAX_PAGE_BYTES = Limit("size of one page of a table", 64_000_000, "bytes")
MAX_CHUNK_BYTES = Limit("size of one column of one row group", 128_000_000, "bytes")
MAX_GROUP_ROWS = Limit("number of rows in one row group", 2_500_000)
MAX_FOOTER_BYTES = Limit("size of the footer of a table", 64_000_000, "bytes")
MAX_HEAPS = Limit("number of heaps on the ground in a run's description", 200_000)
MAX_RUN_ID_CHARS = Limit("length of a run id", 100, "characters")
MAX_ACTORS = Limit("number of actors of a run", 1_000_000)
MAX_TILES = Limit("number of tiles of a map", 4096 * 4096)

_EVENTS_OF_EACH, _EVENTS_OF_NOBODY = 64, 100_000


def most_events(actors: int) -> Limit:
    """Return the limit of utterances or effects in one tick of a world with so many actors."""
    return Limit("number of utterances or effects in one tick", _EVENTS_OF_EACH * actors + _EVENTS_OF_NOBODY)

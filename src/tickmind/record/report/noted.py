"""Outages noted beside a run: what the run itself can't know, such as that its world was killed."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tickmind.base import Limit
from tickmind.record.disk import OsDisk, reading_fault, write_whole
from tickmind.record.errors import DamagedRunError
from tickmind.record.report.figures import Outage

FILE = "outages.json"
KIND = "noted"
MAX_BYTES = Limit("size of outages.json", 4_000_000, "bytes")


def note_outages(folder: Path, outages: Iterable[Outage]) -> None:
    """Store outages beside the run in a folder, replacing earlier ones; its report shows them."""
    rows = [
        {
            "name": outage.name,
            "first_tick_id": outage.first_tick_id,
            "last_tick_id": outage.last_tick_id,
            "detail": outage.detail,
        }
        for outage in outages
    ]
    write_whole(OsDisk(), folder / FILE, json.dumps(rows, indent=1, ensure_ascii=False).encode() + b"\n")


def noted_outages(folder: Path) -> tuple[Outage, ...]:
    """Return the noted outages, or none."""
    try:
        data = OsDisk().read_bytes(folder / FILE, MAX_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise reading_fault(FILE, error) from error
    try:
        return tuple(_outage(row) for row in json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DamagedRunError(f"{FILE} is malformed; remove it to get a report without it") from error


def _outage(row: Any) -> Outage:
    name, detail = str(row["name"]), str(row["detail"])
    first, last = row["first_tick_id"], row["last_tick_id"]
    if type(first) is not int or type(last) is not int or last < first:
        raise ValueError("ticks are whole numbers, the last not before the first")
    return Outage(KIND, name, first, last, detail)

"""Run ids, which are also names of folders."""

import re

from tickmind.record.errors import RunIdError
from tickmind.record.limits import MAX_RUN_ID_CHARS

_ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def is_run_id(text: str) -> bool:
    """Whether a text is a valid name of one folder."""
    return MAX_RUN_ID_CHARS.allows(len(text)) and bool(_ALLOWED.fullmatch(text)) and not text.endswith(".")


def check_run_id(run_id: str) -> str:
    """Return the id if it is a valid name of one folder; else raise `RunIdError`."""
    if not MAX_RUN_ID_CHARS.allows(len(run_id)):
        raise RunIdError(f"a run id has at most {MAX_RUN_ID_CHARS.maximum} characters, but this has {len(run_id):,}")
    if not is_run_id(run_id):
        raise RunIdError(
            f"{run_id[:40]!r} can't be a run id: use letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return run_id

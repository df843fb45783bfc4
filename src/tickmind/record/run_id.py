"""Names of runs, which are names of folders too."""

import re

from tickmind.record.errors import RunIdError
from tickmind.record.limits import MAX_RUN_ID_CHARS

_ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def is_run_id(text: str) -> bool:
    """Whether a text can be the name of a folder and of nothing else."""
    return MAX_RUN_ID_CHARS.allows(len(text)) and bool(_ALLOWED.fullmatch(text)) and not text.endswith(".")


def check_run_id(run_id: str) -> str:
    """Give the id back if it can be the name of a folder and of nothing else; else raise `RunIdError`."""
    if not MAX_RUN_ID_CHARS.allows(len(run_id)):
        raise RunIdError(f"a run id has at most {MAX_RUN_ID_CHARS.maximum} characters, this one {len(run_id):,}")
    if not is_run_id(run_id):
        raise RunIdError(
            f"{run_id[:40]!r} can't be a run id: use letters, digits, '-', '_' and '.', a letter or digit first"
        )
    return run_id

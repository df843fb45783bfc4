"""How a folder of runs is named in commands, for messages that say what to do."""

import shlex
from pathlib import Path

DEFAULT_RUNS = Path("runs")


def where(root: Path) -> str:
    """What a command needs to find the runs in a folder, with a blank before it; nothing for the usual one."""
    return "" if root == DEFAULT_RUNS else f" --runs {shlex.quote(str(root))}"

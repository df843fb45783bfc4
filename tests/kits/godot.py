"""Where Godot is, if it is there: 4 as `godot` or `godot4`, 3 as `godot3-server` or `godot3`."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

ADD_ON = Path(__file__).parents[2] / "clients" / "godot"


@cache
def godot4() -> str:
    """Return the program of Godot 4; empty if there is none."""
    return _first(("godot4", "godot"), "4.")


@cache
def godot3() -> str:
    """Return a program of Godot 3 that needs no screen; empty if there is none."""
    return _first(("godot3-server",), "3.")


def _first(names: tuple[str, ...], version: str) -> str:
    for name in names:
        program = shutil.which(name)
        if program is not None:
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
            if done.stdout.strip().splitlines()[-1:] and done.stdout.strip().splitlines()[-1].startswith(version):
                return program
    return ""

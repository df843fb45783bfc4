"""Modules of a user's programs and measures: each trial imports them anew, and sees nothing that another one left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_INSTALLED: Final = ("site-packages", "dist-packages")  # they stay: many can be imported only once
_ROOT: Final = Path(__file__).parents[3]  # tickmind's own


@contextmanager
def fresh_modules(*folders: Path) -> Iterator[None]:
    """Forget at the end which modules were imported from these folders, and what was added to the search path."""
    places, known = sys.path.copy(), set(sys.modules)
    inside = [folder.resolve() for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = places
        for name in sys.modules.keys() - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and _is_users(Path(file).resolve(), inside):
                del sys.modules[name]


def _is_users(file: Path, folders: list[Path]) -> bool:
    if file.suffix != ".py" or file.is_relative_to(_ROOT) or any(part in _INSTALLED for part in file.parts):
        return False
    return any(file.is_relative_to(folder) for folder in folders)

"""Starts the warden's own process: `python -S boot.py SOCKET ISOLATION`.

The warden must start fast, so it is imported without the packages around it, which import gRPC; these are imported when
the first agent needs them.
"""

import sys
from pathlib import Path
from types import ModuleType


def bare_packages() -> None:
    """Make the modules beside this one importable by name, without running `__init__` files."""
    folder = Path(__file__).resolve().parent
    for name, path in (
        ("tickmind", folder.parents[1]),
        ("tickmind.runner", folder.parent),
        ("tickmind.runner.warden", folder),
    ):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package


if __name__ == "__main__":
    del sys.path[0]  # this folder, whose files would shadow modules
    bare_packages()
    from tickmind.runner.warden.process import main

    sys.exit(main(int(sys.argv[1]), sys.argv[2]))

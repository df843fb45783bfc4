"""Starts the warden's own process: `python -S boot.py SOCKET ISOLATION`.

The warden must be there at once, so it is imported without the packages around it, which bring gRPC along; they are
looked for and imported when the first agent wants them.
"""

import sys
from pathlib import Path
from types import ModuleType


def bare_packages() -> None:
    """Let the modules beside this one be imported by their names, without what `__init__` files import."""
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
    del sys.path[0]  # this folder, whose files would be modules
    bare_packages()
    from tickmind.runner.warden.process import main

    sys.exit(main(int(sys.argv[1]), sys.argv[2]))

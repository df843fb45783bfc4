"""Installs what it is given (`-r FILE`, `-e .`) into the environment of the Python that runs it.

With uv, which takes a fraction of the time and is told what pip is told here; with pip itself where uv can't do it.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

PIP = (sys.executable, "-m", "pip")
INSTALL = (*PIP, "install", "--quiet", "--disable-pip-version-check", "--no-compile")
UV_NAMES = {  # pip's setting -> the same of uv
    "cert": "SSL_CERT_FILE",
    "extra-index-url": "UV_EXTRA_INDEX_URL",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_INDEX_URL",
    "no-index": "UV_NO_INDEX",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
}
SECTIONS = (":env:", "install", "global")  # of pip's settings; the first that has one decides
LIKE_PIP = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1"}


def settings_for_uv(pip_config: str) -> dict[str, str]:
    """What `pip config list` says, in the names of uv."""
    found: dict[str, tuple[int, str]] = {}  # name -> rank of its section and value
    for line in pip_config.splitlines():
        key, _, value = line.partition("=")
        section, _, setting = key.rpartition(".")
        if setting in UV_NAMES and section in SECTIONS:
            name, rank = UV_NAMES[setting], SECTIONS.index(section)
            separator = "," if name == "UV_FIND_LINKS" else " "
            told = rank, separator.join(str(ast.literal_eval(value)).split())
            found[name] = min(told, found.get(name, told))
    return {name: value for name, (_, value) in found.items()}


def with_uv(arguments: list[str]) -> bool:
    """Whether it could be done with uv."""
    pins = Path(__file__).with_name("uv.txt")
    install_uv = [*INSTALL, "--only-binary=:all:", "-r", str(pins)]
    if subprocess.run(install_uv, capture_output=True, check=False).returncode:
        return False
    told = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False)
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, *arguments]
    environment = {**settings_for_uv(told.stdout), **LIKE_PIP, **os.environ}
    try:
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    except OSError:
        return False  # it was put elsewhere, or can't be run


def main() -> int:
    """Install; the exit code is that of who did it."""
    arguments = sys.argv[1:]
    if with_uv(arguments):
        return 0
    sys.stderr.write("uv could not do it, so pip does; that takes a minute or two\n")
    return subprocess.run([*INSTALL, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

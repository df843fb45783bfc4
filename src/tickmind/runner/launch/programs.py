"""Checks that the program of a command exists, without running it."""

import importlib
import importlib.util
import os
import pkgutil
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from tickmind.base.problems import nearest
from tickmind.runner.environment import passed_on
from tickmind.runner.spec import AgentSpec

OUR_PYTHON = ("python", "python3")  # names of the runner's own interpreter
_ANY_PYTHON = re.compile(r"python[0-9.]*")
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")  # options of Python that are two words


def missing_program(spec: AgentSpec, environment: Mapping[str, str]) -> str:
    """Return what of an agent's command is missing, and what to do; empty if nothing is, as far as can be checked."""
    program = spec.cmd[0]
    env = {**passed_on(environment), **dict(spec.env)}
    if program not in OUR_PYTHON and (why := _missing_file(program, spec.cwd, env.get("PATH", os.defpath))):
        return why
    if not is_python(program):
        return ""
    option, what = python_runs(spec.cmd[1:])
    if not what:
        return "it names nothing to run; write [python, FILE.py] or [python, -m, MODULE]"
    if option == "-m":
        folders = [spec.cwd, *(spec.cwd / each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each)]
        return _missing_module(what, list(map(str, folders))) if program in OUR_PYTHON else ""
    if option or what == "-":
        return ""
    return _missing_script(what, spec.cwd)


def is_python(program: str) -> bool:
    """Return whether a command's program is Python."""
    return _ANY_PYTHON.fullmatch(Path(program).name) is not None


def _missing_file(program: str, folder: Path, search: str) -> str:
    if "/" not in program:
        if shutil.which(program, path=search):
            return ""
        instead = f"write ./{program}" if (folder / program).is_file() else "install it, or name it with its folder"
        return f"there is no program {program!r} on the PATH; {instead}"
    path = folder / program
    if not path.is_file():
        return f"there is no program {path}"
    return "" if os.access(path, os.X_OK) else f"{path} is no program that can be run; run: chmod +x {path}"


def python_runs(arguments: Sequence[str]) -> tuple[str, str]:
    """Return what Python is to run: `-m` and a module, `-c` and code, or empty and a file; the last may be empty."""
    rest = iter(arguments)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif word.startswith("-") and not word.startswith("--") and word[-1] in "mc":
            return f"-{word[-1]}", next(rest, "")
        elif not word.startswith("-") or word == "-":
            return "", word
    return "", ""


def _missing_script(name: str, folder: Path) -> str:
    path = folder / name
    if path.exists():
        return ""
    beside = (str(file.relative_to(folder)) for file in path.parent.glob("*.py") if file.is_relative_to(folder))
    return f"there is no file {name} in {folder}{nearest(name, beside)}; paths are relative to the mapping's folder"


def _missing_module(name: str, folders: list[str]) -> str:
    """Return what is missing of a module. Nothing is imported: a package may do anything when it is."""
    if not all(map(str.isidentifier, name.split("."))):
        return f"{name} is no valid module name; write for example [python, -m, tickmind.characters.berry_eater]"
    importlib.invalidate_caches()
    module: ModuleSpec | None = None
    parts, places = name.split("."), folders
    for count, part in enumerate(parts, 1):
        known = PathFinder.find_spec(".".join(parts[:count]), places)
        module = known or (_installed(part) if count == 1 else None)
        if module is None:
            others = nearest(part, (each.name for each in pkgutil.iter_modules(places)))
            return f"there is no module {'.'.join(parts[:count])}{others}; it must be installed or in {folders[0]}"
        places = list(module.submodule_search_locations or ())
    if module is None or module.submodule_search_locations is None or PathFinder.find_spec(f"{name}.__main__", places):
        return ""
    return f"the package {name} can't be run, since it has no __main__.py; name one of its modules"


def _installed(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # an empty name, or a module without a spec
        return None

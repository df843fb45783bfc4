"""What the house promises about itself: documented names, short files, honest tools."""

import ast
import gc
import importlib
import inspect
import re
import shutil
import subprocess
import tomllib
from enum import Enum
from pathlib import Path

import pytest

import tickmind

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGES = sorted(
    ".".join(file.parent.relative_to(SRC).parts) for file in SRC.rglob("__init__.py") if "__all__" in file.read_text()
)


# Public names


def as_ruff_sorts(name):
    """Constants, then classes, then the rest; numbers inside names by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def documented(thing):
    """Whether a class or function has a docstring that somebody wrote."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return bool(text) and not text.startswith(f"{getattr(thing, '__name__', '')}(")  # @dataclass writes signatures


def undocumented_in(kind):
    """The public methods and properties that a class of ours adds, without docstrings."""
    for base in kind.__mro__:
        if not base.__module__.startswith("tickmind"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or (issubclass(base, Enum) and name in base.__members__):
                continue
            inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if (inspect.isfunction(inner) or isinstance(inner, property)) and not documented(inner):
                yield f"{base.__qualname__}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists_and_is_documented(package):
    module = importlib.import_module(package)
    assert documented(module)
    bare = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            bare += [] if documented(thing) else [name]
            bare += undocumented_in(thing)
        elif inspect.isfunction(thing) and not documented(thing):
            bare.append(name)
    assert bare == []


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_sorted_and_named_once(package):
    names = importlib.import_module(package).__all__
    assert list(names) == sorted(set(names), key=as_ruff_sorts)


def test_the_foundation_is_among_the_packages():
    assert {"tickmind.ai", "tickmind.base", "tickmind.tick"} <= set(PACKAGES)


# Files


def tree_of(file: Path) -> ast.Module:
    """The syntax tree of a file, without garbage collections in between.

    A finalizer that fails is shown with its traceback, which Python 3.11 parses in the middle of this: it then takes
    the depth of that for its own.
    """
    gc.disable()
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    finally:
        gc.enable()


# File -> why it may open a name by itself; all others write through `base.files`, which follows no link.
OPENS_BY_ITSELF = {
    "base/files.py": "the one place",
    "cli/runner/commands.py": "writes to /dev/null",
    "base/secret_sources.py": "reads only",
    "llm/local/fetch.py": "writes into a folder that it has just made",
    "llm/local/guard.py": "writes to /proc",
    "llm/local/runtimes/process.py": "writes into a temporary folder of its own",
    "record/disk.py": "opens a folder to sync it",
    "runner/warden/isolation.py": "writes to /proc",
    "runner/warden/keeper.py": "writes to /proc",
    "runner/warden/tree.py": "writes to /proc",
    "runner/warden/warm.py": "opens a descriptor that it was given",
    "world/kernels/compiled.py": "makes an empty file, and writes nothing",
    "viewer/export/gif.py": "writes into a temporary folder of its own",
}


MAY_WRITE = re.compile(r"\b(open|touch|write_text|write_bytes)\(")


def opens_to_write(call):
    """Whether a call writes to a file by its name: `path.write_text(...)`, `os.open(...)`, `open(path, "wb")`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"write_text", "write_bytes", "touch"}:
        return True
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [
        one.value for one in [*call.args, *(given.value for given in call.keywords)] if isinstance(one, ast.Constant)
    ]
    by_number = ast.unparse(call.func) == "os.open"
    return by_number or (
        name == "open" and any(isinstance(mode, str) and re.search(r"^[rwaxbt]*[wax+]", mode) for mode in modes)
    )


def test_every_file_is_written_through_the_module_that_follows_no_link():
    found = {
        str(file.relative_to(SRC / "tickmind"))
        for file in SRC.rglob("*.py")
        if MAY_WRITE.search(file.read_text(encoding="utf-8"))  # most files need not be parsed
        and any(isinstance(node, ast.Call) and opens_to_write(node) for node in ast.walk(tree_of(file)))
    }
    assert found == set(OPENS_BY_ITSELF)


# The map

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_map_names_exists():
    named = {path for path in re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*\.py)`", ARCHITECTURE) if "/" in path}
    tails = [str(file.relative_to(SRC / "tickmind")) for file in (SRC / "tickmind").rglob("*.py")]
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named |= {path.rstrip("/") for path in re.findall(r"`src/tickmind/([\w/]+\.py)`", guide)}
    places = set(re.findall(r"`((?:src|tests|viewer|proto|docs|benchmarks|requirements)/[\w./*-]+)`", guide))
    assert {place for place in places if not any(ROOT.glob(place.rstrip("/")))} == set()
    assert len(named) > 40
    assert {path for path in named if not any(tail == path or tail.endswith(f"/{path}") for tail in tails)} == set()


def test_the_architecture_lists_every_package_with_its_rooms():
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", ARCHITECTURE, re.MULTILINE)
    listed = {name: set(re.findall(r"`(\w+)`", rooms)) for name, rooms in rows}
    real = {
        package.parent.name: {room.parent.name for room in package.parent.glob("*/__init__.py")}
        for package in (SRC / "tickmind").glob("*/__init__.py")
    }
    assert listed == real


# Names of the two designs that both must keep: a node of behaviour trees, and an intent.
MEANT_TO_REPEAT = {"Wait"}


def test_a_public_class_name_means_one_thing_in_all_packages():
    homes: dict[str, list[str]] = {}
    for file in sorted((SRC / "tickmind").rglob("*.py")):
        if "v1" in file.parts:  # generated
            continue
        for name in re.findall(r"^class ([A-Za-z]\w*)", file.read_text(encoding="utf-8"), re.MULTILINE):
            homes.setdefault(name, []).append(str(file.relative_to(SRC / "tickmind")))
    assert {name: files for name, files in homes.items() if len(files) > 1 and name not in MEANT_TO_REPEAT} == {}


def test_an_exported_name_means_one_thing_in_all_packages():
    """Types and functions are meant, too: a package that hands on what is another's has the same thing."""
    meanings: dict[str, dict[int, str]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            meanings.setdefault(name, {})[id(getattr(module, name))] = package
    twice = {name: [*homes.values()] for name, homes in meanings.items() if len(homes) > 1}
    assert twice.keys() == MEANT_TO_REPEAT, twice


MAX_LOOSE_MODULES = 15
MAX_LINES = 450


def test_every_package_has_rooms_and_no_module_is_long():
    packages = {file.parent for file in (SRC / "tickmind").rglob("*.py") if "v1" not in file.parts}
    loose = {str(package): sum(file.name != "__init__.py" for file in package.glob("*.py")) for package in packages}
    assert {package: count for package, count in loose.items() if count > MAX_LOOSE_MODULES} == {}
    lines = {str(file): len(file.read_text().splitlines()) for package in packages for file in package.glob("*.py")}
    assert {file: count for file, count in lines.items() if count > MAX_LINES} == {}


def test_test_folders_are_not_packages():
    assert list((ROOT / "tests").rglob("__init__.py")) == []


# Tools

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_landing_check_is_the_command_that_a_person_runs():
    script = ROOT / ".ci" / "run"
    lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] in ("make test", "exec make test")
    assert script.stat().st_mode & 0o111


def test_make_alone_lists_every_target_that_explains_itself():
    phony = {name for line in re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE) for name in line.split()}
    texts = dict(re.findall(r"^([\w-]+):.*?## (.+)$", MAKEFILE, re.MULTILINE))
    assert texts.keys() <= phony
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    shown = dict(re.findall(r"^  make (\S+) +(.+)$", done.stdout, re.MULTILINE))
    assert shown == texts
    assert {"demo", "test", "check", "bench", "fmt", "docs"} <= shown.keys()


@pytest.mark.skipif(shutil.which("npm") is None, reason="without Node neither is built")
def test_the_page_and_the_client_set_up_their_packages_once():
    """Two at the same time remove each other's files: then neither is built."""
    command = ["make", "--dry-run", "--what-if=viewer/package-lock.json", "page", "client"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.count("npm ci") == 1


def test_the_version_is_the_same_in_both_places():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == tickmind.__version__


def requirement_lines(file):
    lines = [line.split(" #")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


# By suffix: an install leaves compiled files beside them.
REQUIREMENTS = sorted(file for file in (ROOT / "requirements").iterdir() if file.suffix in {".in", ".py", ".txt"})


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.name)
def test_requirements_hold_no_address(file):
    for line in requirement_lines(file):
        assert "://" not in line
        assert "@" not in line
        assert not line.startswith("-")


@pytest.mark.parametrize("name", ["dev", "bench", "bench-gateway"])
def test_requirements_are_pinned(name):
    pins = requirement_lines(ROOT / "requirements" / f"{name}.txt")
    assert pins
    for line in pins:
        assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][A-Za-z0-9.!+]*( ; .+)?", line), line


def test_what_the_package_needs_is_pinned_in_both_sets():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[^\w.-]", item)[0].lower() for item in project["dependencies"]}
    for name in ("dev", "bench"):
        pinned = {line.split("==")[0].lower() for line in requirement_lines(ROOT / "requirements" / f"{name}.txt")}
        assert needed <= pinned

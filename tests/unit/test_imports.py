"""What modules import: each comes on its own, light parts stay light, and no part needs more than its extra brings."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
MODULES = sorted(
    ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for file in SRC.rglob("*.py")
    if "__main__" not in file.name
)
BELOW = {"base": {"base"}, "tick": {"base", "tick"}, "ai": {"base", "tick", "ai"}}  # part -> what it may bring along
# What joins a light part to a heavy one, and is imported by those who want both.
BRIDGES = {"tickmind.ai.board_tools", "tickmind.base.background", "tickmind.base.telemetry.metrics_page"}
HEAVY = ("aiohttp", "asyncio", "numpy", "openai", "orjson", "pydantic", "rich", "structlog", "typer", "yaml")

# Imports each module in a process of its own, forked from one that has imported nothing but the packages it is in:
# Python imports those first anyway, so what they have loaded by then is what the module would find on its own.
IMPORT_EACH = """
import json, os, sys, traceback
modules = sys.argv[1:]
def in_a_process_of_its_own(name, then):
    if os.fork() == 0:
        try:
            __import__(name)
            error = ""
        except BaseException:
            error = traceback.format_exc()
        print(json.dumps([name, error, sorted(sys.modules)]), flush=True)
        then(name)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
def children(package):
    loaded = sorted(sys.modules)
    for name in modules:
        if name.rpartition(".")[0] == package:
            if name in sys.modules and not any(other.startswith(name + ".") for other in modules):
                print(json.dumps([name, "", loaded]), flush=True)
            else:
                in_a_process_of_its_own(name, children)
in_a_process_of_its_own("tickmind", children)
"""


# Imports all modules in one process and prints which import found its module, or the package of its module, half done.
# Where there is none, the order of imports does not matter, and each module can be the first one.
IMPORT_ALL = """
import builtins, importlib.util, json, sys
modules, circles, real = sys.argv[1:], [], builtins.__import__
known = set(modules)
def half_done(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)
def within(name, package):
    return name == package or name.startswith(package + ".")
def watched(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if level:
        name = importlib.util.resolve_name("." * level + name, globals["__package__"])
    if within(importer, "tickmind") and within(name, "tickmind"):
        for wanted in [f"{name}.{part}" for part in fromlist or ()] or [name]:
            target = wanted if wanted in known else name
            parts = target.split(".")
            packages = [".".join(parts[:count]) for count in range(1, len(parts))]
            late = [package for package in packages if half_done(package) and not within(importer, package)]
            if target != importer and half_done(target):
                late.append(target)
            circles.extend(f"{importer} imports {wanted} while {one} is half imported" for one in late)
    return real(name, globals, locals, fromlist, 0)
builtins.__import__ = watched
for module in modules:
    importlib.import_module(module)
print(json.dumps([sorted(set(circles)), sorted(known & sys.modules.keys())]))
"""


def run_python(code, *arguments):
    """What a new interpreter prints that knows our source only."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def import_each(modules):
    """Module -> the traceback of importing it alone (empty if all is well) and what was loaded by that."""
    lines = run_python(IMPORT_EACH, *modules).splitlines()
    return {name: (error, loaded) for name, error, loaded in map(json.loads, lines)}


def is_light(name):
    """Whether a module is of a part that brings nothing heavy along."""
    part = name.split(".")[1] if "." in name else ""
    return part in BELOW and name not in BRIDGES


@pytest.mark.slow
def test_every_module_imports_on_its_own():
    circles, imported = json.loads(run_python(IMPORT_ALL, *MODULES))
    assert circles == []
    assert imported == MODULES


@pytest.mark.slow
def test_a_light_part_brings_nothing_heavy_along():
    names = [name for name in MODULES if is_light(name)]
    imported = import_each(["tickmind", *names])
    for name in names:
        _, loaded = imported[name]
        assert [heavy for heavy in HEAVY if heavy in loaded] == [], name
        parts = {module.split(".")[1] for module in loaded if module.startswith("tickmind.")}
        assert parts <= BELOW[name.split(".")[1]], name


# Extras

# Imports the modules of each case in a fork in which some third-party modules are missing. All forks are of one process
# that has imported what every installation has.
WITHOUT = """
import gc, importlib, json, os, sys, traceback
class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
for name in sys.argv[2:]:
    importlib.import_module(name)
gc.freeze()
for missing, modules in json.loads(sys.argv[1]):
    if not os.fork():
        error = ""
        try:
            assert not {name.partition(".")[0] for name in sys.modules} & {*missing, "tickmind"}
            sys.meta_path.insert(0, Missing())
            for module in modules:
                importlib.import_module(module)
        except BaseException:
            error = traceback.format_exc()
        print(json.dumps(error), flush=True)
        os._exit(0)
    os.wait()
"""
ALWAYS_THERE = ("asyncio", "jsonschema", "orjson", "pydantic", "rich.console", "structlog", "typer", "yaml")
ONLY_FOR_TESTS = {"pandas", "scipy"}  # which libraries look for, too
IMPORTED_AS = {
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "pillow": "PIL",
    "protobuf": "google",
    "pytiled-parser": "pytiled_parser",
}
WITH_ITS_EXTRA = {
    "": ["tick", "ai", "llm", "tools", "strategy"],
    "gateway": ["gateway", "cli.gateway.top"],
    "learn,world": [
        "adapters.pettingzoo.actor_env",
        "adapters.pettingzoo.copies_env",
        "adapters.pettingzoo.scenario_env",
    ],
    "mind": ["mind.embeddings", "mind.memory", "mind.reflection", "mind.talk"],
    "certificates,mcp,otel,world": [
        "adapters.mcp.playing",
        "adapters.mcp.transports",
    ],  # mcp needs both itself
    "certificates,mcp,otel,record,world": ["adapters.mcp.run_server"],
    "otel,world": ["adapters.telemetry.otlp"],  # the exporter needs protobuf itself
    "record": ["record", "cli.runs.commands"],
    "record,report": ["record.report", "cli.runs.report"],
    "record,world": ["lab.branching.branch", "cli.lab.branch"],
    "record,report,world": ["lab.interviews.interviewer", "cli.lab.interview"],
    "viewer": ["viewer"],
    "viewer,world": ["adapters.websocket", "cli.websocket"],
    "record,viewer": ["viewer.sources.replay", "viewer.export.clip", "cli.viewer"],
    "world": [
        "adapters",
        "adapters.pettingzoo",
        "world",
        "wire",
        "server",
        "agent",
        "runner",
        "characters",
        "cli.world.serving",
    ],
}


def brought_by(extras):
    """The modules that these extras bring."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = [re.split(r"[<>=\[]", one)[0] for extra in extras for one in table[extra]]
    return {IMPORTED_AS.get(name, name) for name in names} - {"tickmind"}


@pytest.fixture(scope="module")
def with_its_extra():
    """Extras -> the traceback of importing their parts where nothing but these is installed; empty if all is well."""
    everything = brought_by(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    cases = [
        (
            sorted(everything - brought_by(filter(None, extras.split(","))) | ONLY_FOR_TESTS),
            [f"tickmind.{part}" for part in parts],
        )
        for extras, parts in WITH_ITS_EXTRA.items()
    ]
    said = run_python(WITHOUT, json.dumps(cases), *ALWAYS_THERE).splitlines()
    return dict(zip(WITH_ITS_EXTRA, map(json.loads, said), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("extras", WITH_ITS_EXTRA, ids=lambda extras: extras or "none")
def test_a_part_needs_no_more_than_its_extra_brings(with_its_extra, extras):
    assert with_its_extra[extras] == ""

"""The program around its commands: help, versions, logs, endings and how soon it is there."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import tickmind as package
from tickmind.base import ConfigError
from tickmind.cli.app import PlainEndings, app, main

SRC = Path(package.__file__).parents[1]
SHORT_HELP_CHARS = 59  # that a list of commands has room for in a terminal of 80


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that lead to it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = list(commands(typer.main.get_command(app)))


def test_there_are_the_commands_that_are_promised():
    assert {("ask",), ("model", "list"), ("model", "install"), ("model", "remove")} <= {path for path, _ in COMMANDS}


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) or "tickmind" for path, _ in COMMANDS])
def test_the_help_of_a_command_explains_everything(path, command, tickmind):
    result = tickmind(*path, "--help")
    assert result.exit_code == 0
    assert command.help
    for parameter in command.params:
        assert parameter.help, f"{' '.join(path)}: {parameter.name} is not explained"
        for option in parameter.opts:
            assert option in result.stdout


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) or "tickmind" for path, _ in COMMANDS])
def test_help_is_in_whole_sentences(path, command, tickmind):
    for parameter in command.params:
        assert parameter.help[:1].isupper(), f"{parameter.name}: {parameter.help}"
        assert parameter.help.endswith("."), f"{parameter.name}: {parameter.help}"
    for name, inner in getattr(command, "commands", {}).items():
        said = inner.get_short_help_str(SHORT_HELP_CHARS)
        assert said.endswith("."), f"{name}: {said}"
        assert not said.endswith("..."), f"{name}: {said}"
    shown = tickmind(*path, "--help").stdout
    assert not [line for line in shown.splitlines() if line.endswith("...") and not line.startswith("Usage:")]


def test_no_option_takes_a_key():
    names = {option for _, command in COMMANDS for parameter in command.params for option in parameter.opts}
    assert not [name for name in names if "key" in name or "secret" in name or "password" in name]


def test_a_key_that_is_given_as_an_argument_is_refused_and_not_repeated(tickmind, canary):
    for arguments in (("--api-key", canary), (f"--api-key={canary}",)):
        result = tickmind("ask", *arguments, "hi")
        assert result.exit_code == 2
        assert canary not in result.output


def test_the_version_is_told(tickmind):
    result = tickmind("--version")
    assert (result.exit_code, result.stdout) == (0, f"tickmind {package.__version__}\n")


def test_without_a_command_the_help_is_shown(tickmind):
    result = tickmind()
    assert "ask" in result.output
    assert "Traceback" not in result.output


def test_an_error_of_ours_is_one_sentence_and_exit_code_1(tickmind):
    result = tickmind("ask", "--model", "gpt-4o-mini", "hi")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("no API key for api.openai.com")
    assert result.stderr.count("\n") == 1


def test_debug_logs_say_where_an_error_came_from(tickmind):
    result = tickmind("--log-level", "debug", "ask", "--model", "gpt-4o-mini", "hi")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.rstrip().splitlines()[-1].startswith("no API key")


def test_json_logs_are_json(tickmind):
    result = tickmind("--log-level", "debug", "--log-style", "json", "ask", "--model", "gpt-4o-mini", "hi")
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert "LLMConfigError" in next(line["exception"] for line in lines if "exception" in line)


def endings(error: BaseException) -> typer.Typer:
    """A program whose only command ends with this."""
    made = typer.Typer(cls=PlainEndings)

    @made.command()
    def end() -> None:
        raise error

    @made.command()
    def other() -> None:
        """So that `end` must be named."""

    return made


def test_an_error_that_repeats_a_providers_words_does_nothing_to_the_terminal():
    said = ConfigError("the provider said: no\x1b]0;pwned\x07\x9b2J\nTry again.")
    result = CliRunner().invoke(endings(said), ["end"])
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "Try again.")
    assert all(letter.isprintable() or letter == "\n" for letter in result.stderr)


def test_an_error_that_repeats_a_key_is_masked(canary):
    result = CliRunner().invoke(endings(ConfigError(f"refused: Bearer {canary}")), ["end"])
    assert result.exit_code == 1
    assert canary not in result.output


@pytest.mark.parametrize(
    ("module", "extra"),
    [("msgspec", "gateway"), ("grpc.aio", "world"), ("pyarrow", "record"), ("wordllama", "mind")],
)
def test_a_part_that_is_not_installed_is_told_with_what_to_install(module, extra):
    result = CliRunner().invoke(endings(ModuleNotFoundError(f"No module named {module!r}", name=module)), ["end"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        f"this command needs {module}, which is not installed: `pip install 'tickmind[{extra}]'`"
    )
    assert result.stderr.count("\n") == 1


WITHOUT_PARTS = [
    ("world arena --no-record", "grpc", "world"),
    ("demo", "numpy", "world"),
    ("up arena", "grpc", "world"),
    ("gateway", "httptools", "gateway"),
    ("viewer", "aiohttp", "viewer"),
    ("runs", "pyarrow", "record"),
    ("replay spring --gif spring.gif", "PIL", "gif"),
]
ALWAYS_THERE = ("structlog.stdlib", "typer._adapters", "yaml")
HEAVY = (
    *("aiohttp", "asyncio", "jsonschema", "openai", "orjson", "pydantic", "rich", "structlog", "yaml"),
    "tickmind.protocol",
)
MODEL_LAYER = ("aiohttp", "jsonschema", "openai", "orjson", "tickmind.llm", "yaml")  # typer reads values with pydantic
HELPS = [
    ("--help", HEAVY),
    ("--version", HEAVY),
    ("ask --help", MODEL_LAYER),
    ("model --help", MODEL_LAYER),
    ("gateway --help", MODEL_LAYER),
]

# Runs each command in a fork of one new interpreter, which has imported the program and what it is given besides, and
# prints what became of it.
FORKS = """
import gc, importlib, json, os, sys, tempfile
from tickmind.cli.app import main
for name in sys.argv[2:]:
    importlib.import_module(name)
gc.freeze()
for command, missing in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        if not os.fork():
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            if missing:
                sys.modules[missing] = None
            sys.argv = ["tickmind", *command.split()]
            try:
                main()
            except SystemExit as ended:  # without taking the modules apart, which would take longer than the rest
                print("loaded", *sys.modules, flush=True)
                os._exit(ended.code or 0)
        _, status = os.wait()
        out.seek(0)
        err.seek(0)
        print(json.dumps([os.waitstatus_to_exitcode(status), out.read(), err.read()]))
"""


Ends = dict[tuple[str, str], tuple[int, str, str]]


def run_in_forks(folder: Path, cases: list[tuple[str, str]], *imported: str) -> Ends:
    """Command and missing module -> exit code, output with the modules that were loaded, and errors."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(cases), *imported],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return dict(zip(cases, map(tuple, map(json.loads, done.stdout.splitlines())), strict=True))


@pytest.fixture(scope="module")
def without_parts(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    cases = [(command, module) for command, module, _ in WITHOUT_PARTS]
    return run_in_forks(tmp_path_factory.mktemp("parts"), cases, *ALWAYS_THERE)


@pytest.fixture(scope="module")
def helps(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    return run_in_forks(tmp_path_factory.mktemp("helps"), [(command, "") for command, _ in HELPS])


@pytest.mark.slow
@pytest.mark.parametrize(("command", "module", "extra"), WITHOUT_PARTS)
def test_a_command_without_its_part_tells_what_to_install(without_parts, command, module, extra):
    code, _, errors = without_parts[command, module]
    assert code == 1, errors
    assert f"is not installed: `pip install 'tickmind[{extra}]'`" in errors
    assert "Traceback" not in errors


def test_a_module_that_no_part_brings_is_no_plain_ending():
    result = CliRunner().invoke(endings(ModuleNotFoundError("No module named 'oops'", name="oops")), ["end"])
    assert isinstance(result.exception, ModuleNotFoundError)


def test_ctrl_c_ends_with_130_and_a_clean_line():
    result = CliRunner().invoke(endings(KeyboardInterrupt()), ["end"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\nStopped.\n")


CANARY = "plain-canary-90ab12cd34ef"  # of no shape that is masked by itself

# Runs each command up to where it would begin, and lets it fail there as no command of ours should.
CRASHES = """
import gc, json, os, resource, sys, tempfile, threading
import importlib.metadata, structlog.dev, structlog.stdlib, typer._adapters  # what would be loaded for each command
import pydantic.plugin._loader
from tickmind.cli.app import main
from tickmind.base import Secret
from typer.core import TyperCommand

def fail():
    try:
        raise KeyError(key.reveal())
    except KeyError as error:
        raise RuntimeError(f"can't use {key.reveal()}") from error

owner = next(kind for kind in TyperCommand.__mro__ if "invoke" in vars(kind))
as_usual = owner.invoke

def crash(self, context):
    if context.invoked_subcommand is not None:
        return as_usual(self, context)
    print("core", resource.getrlimit(resource.RLIMIT_CORE)[0], file=sys.stderr)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    fail()

key = Secret(sys.stdin.readline().strip())
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
owner.invoke = crash
gc.freeze()
for words in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as err:
        if not os.fork():
            os.dup2(err.fileno(), 2)
            sys.argv = ["tickmind", *words]
            main()
            os._exit(0)
        _, status = os.wait()
        err.seek(0)
        print(json.dumps([os.waitstatus_to_exitcode(status), err.read()]), flush=True)  # not by a child
"""


def given(parameter):
    """The words that give a command a parameter that it needs: a number, and the name of a file."""
    return [parameter.opts[0], "1"] if parameter.opts[0].startswith("-") else ["1"]


@pytest.mark.slow
def test_no_uncaught_error_of_any_command_shows_a_secret_or_leaves_a_core_dump(tmp_path):
    (tmp_path / "1").write_text("x")
    every = []
    for path, command in COMMANDS:
        if path and (not getattr(command, "commands", {}) or command.invoke_without_command):
            every.append(
                [*path, *(word for parameter in command.params if parameter.required for word in given(parameter))]
            )
    assert len(every) > 15
    done = subprocess.run(
        [sys.executable, "-c", CRASHES, json.dumps(every)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SRC)},
        input=f"{CANARY}\n",
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    for words, (code, errors) in zip(every, map(json.loads, done.stdout.splitlines()), strict=True):
        assert code == 1, (words, errors)
        assert errors.count("RuntimeError: can't use ***") == 2, (words, errors)
        assert CANARY not in errors, words
        assert errors.startswith(("core 0\n", "core 1\n")), (words, errors)


def test_main_runs_the_program(monkeypatch, capsys):
    for module, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(module, name, getattr(module, name))  # main replaces them
    monkeypatch.setattr(sys, "argv", ["anything", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "Usage: tickmind " in capsys.readouterr().out


@pytest.mark.parametrize(("command", "unwanted"), HELPS)
def test_help_comes_without_anything_heavy(helps, command, unwanted):
    code, output, errors = helps[command, ""]
    assert code == 0, errors
    loaded = output.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert set(unwanted) & set(loaded) == set()


# Commands that work without an adapter, each as far as it comes here; OpenTelemetry's is named by the environment only.
WITHOUT_ADAPTERS = [
    "--help",
    "check clearing",
    "gateway --check",
    "report none",
    "run none",
    "runner none.yaml",
    "runs",
    "up none.yaml",
    "world none.yaml",
]
LOADED_BY_MOST = (
    *ALWAYS_THERE,
    *("aiohttp", "grpc.aio", "jsonschema", "pyarrow.parquet", "pydantic", "rich.console", "uvloop"),
    *("tickmind.agent", "tickmind.gateway", "tickmind.server", "tickmind.world"),
)
BEHIND_ADAPTERS = ("gymnasium", "mcp", "opentelemetry", "pettingzoo", "ray", "tickmind.adapters")


@pytest.mark.slow
def test_no_command_that_needs_no_adapter_imports_one(tmp_path):
    cases = [(command, "") for command in WITHOUT_ADAPTERS]
    for (command, _), (_, output, errors) in run_in_forks(tmp_path, cases, *LOADED_BY_MOST).items():
        loaded = output.splitlines()[-1].split() if output else []
        assert loaded[:1] == ["loaded"], (command, errors)
        found = {name for name in loaded for part in BEHIND_ADAPTERS if name == part or name.startswith(f"{part}.")}
        assert not found, command

"""Digests of the code that decides how trials go and what they measure: a trial of other code is another trial."""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

import tickmind
from tickmind.base import ConfigError
from tickmind.lab.experiments.documents import read_document
from tickmind.lab.experiments.experiment import Experiment, MeasureKind
from tickmind.lab.experiments.trial import LoadRules
from tickmind.runner.launch.programs import is_python, python_runs
from tickmind.runner.mapping import mapping_of


def code_digest(experiment: Experiment, load_rules: LoadRules | None = None) -> str:
    """Return a digest of tickmind itself, of the agents' programs and of rules of the user's own.

    Nothing but those rules is imported. Of a program or a module only its own file counts, not what it imports from
    elsewhere.
    """
    files = [*_programs(experiment), *(_rule_files(experiment, load_rules) if load_rules is not None else ())]
    return _digest_of(files, _package_digest())


def measures_digest(experiment: Experiment) -> str:
    """Return a digest of the functions that measure; raises `ConfigError` for a module that is not there."""
    return _digest_of(measure_files(experiment), b"")


def _digest_of(files: Iterable[Path], begin: bytes) -> str:
    digest = hashlib.blake2b(begin, digest_size=16)
    for path in sorted(set(files)):
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    return digest.hexdigest()


def measure_files(experiment: Experiment) -> Iterator[Path]:
    """Iterate over the files of the functions that measure, beside the experiment or installed."""
    for measure in experiment.measures:
        if measure.kind is MeasureKind.PYTHON:
            module = measure.source.partition(":")[0]
            path = _module_file(module, experiment.file.resolve().parent)
            if path is None:
                raise ConfigError(
                    f"{experiment.file}:{measure.line}: measures.{measure.name}: there is no module {module}; "
                    "put its file beside the experiment, or install it"
                )
            yield path


@cache
def _package_digest() -> bytes:
    root = Path(tickmind.__file__).parent
    digest = hashlib.blake2b(tickmind.__version__.encode(), digest_size=16)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _programs(experiment: Experiment) -> Iterable[Path]:
    """Return the files of all Python programs of the mappings, but tickmind's own."""
    folder = experiment.agents.resolve().parent
    for text in {condition.agents_text for condition in experiment.conditions}:
        for spec in mapping_of(read_document(text), str(experiment.agents), folder).agents.values():
            option, what = python_runs(spec.cmd[1:]) if is_python(spec.cmd[0]) else ("", "")
            if option == "-m" and not what.startswith("tickmind."):
                path = _module_file(what, spec.cwd)
                yield from [] if path is None else [path]
            elif what and not option and (spec.cwd / what).is_file():
                yield spec.cwd / what


def _rule_files(experiment: Experiment, load_rules: LoadRules) -> Iterator[Path]:
    """Iterate over the files of the rules that scenarios name; raises `ConfigError` for one that can't be used."""
    named = (read_document(condition.scenario_text).value.get("own_rules") or () for condition in experiment.conditions)
    for rule in load_rules(list(dict.fromkeys(str(name) for names in named for name in names))).values():
        module = sys.modules.get(rule.__module__)  # of an object, that of its class
        file = None if module is None else inspect.getsourcefile(module)
        if file is not None:
            yield Path(file)


def _module_file(name: str, folder: Path) -> Path | None:
    """Return the file of a module, without importing it or its packages."""
    places: list[str] = [str(folder), *sys.path]
    spec = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None

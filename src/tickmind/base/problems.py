"""`Problem` and `ConfigFileError`: mistakes in a configuration file, with place, expectation and remedy.

    ConfigError
    └── ConfigFileError    everything that is wrong in one file, one line each

A value that may be a secret is never repeated.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from tickmind.base.errors import ConfigError, LimitExceededError
from tickmind.base.secret import redact
from tickmind.base.yaml_source import MAX_FILE_BYTES, Document, Path, SourcePosition, YamlError, read_yaml

_MOST_SHOWN = 20
_LONGEST_VALUE = 60
_KEY_NAMES = ("api_key", "apikey", "apiKey", "token", "secret", "password", "authorization")
_KINDS = {
    "object": "a mapping (name: value)",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `path` leads to the setting, `place` is its line and column, if it has one.

    `file` names the file that it is in, if that is another than the one that was read first.
    """

    path: Path
    message: str
    place: SourcePosition | None = None
    file: str = ""

    def text(self, file: str) -> str:
        """Return the line for the user: `gateway.yaml:12:7: queue.capacity: ...`, which editors can jump to."""
        file = self.file or file
        where = f"{file}:{self.place.line}:{self.place.column}" if self.place else file
        name = dotted(self.path)
        return redact(f"{where}: {name}: {self.message}" if name else f"{where}: {self.message}")


class ConfigFileError(ConfigError):
    """A configuration file can't be used; `problems` lists all mistakes, in the order of the file."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(dict.fromkeys(problems))  # two readers of one part may find the same
        lines = [problem.text(file) for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            lines.append(f"{file}: and {len(self.problems) - _MOST_SHOWN} more")
        super().__init__("\n".join(lines))


def dotted(path: Path) -> str:
    """Return a path as people write it: `providers.groq.keys[0].key`."""
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def nearest(word: str, words: Iterable[str]) -> str:
    """Return ` (did you mean ...?)` if one of the words is similar, else nothing."""
    matches = difflib.get_close_matches(word[:100], list(words), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def read_config(path: FilePath, *, hint: str) -> Document:
    """Read a person's YAML file; raises `ConfigFileError`. `hint` says where to get one if it can't be opened."""
    try:
        with path.open("rb") as opened:
            data = opened.read(int(MAX_FILE_BYTES.maximum) + 1)
        MAX_FILE_BYTES.check(len(data))
        return read_yaml(data.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: the configuration file can't be read: {error.strerror}; {hint}") from None
    except UnicodeDecodeError:
        raise ConfigFileError(str(path), [Problem((), "the file is not UTF-8 text; save it as UTF-8")]) from None
    except LimitExceededError as error:
        raise ConfigFileError(str(path), [Problem((), str(error))]) from None
    except YamlError as error:
        raise ConfigFileError(str(path), [Problem(error.path, str(error), error.place)]) from None


@dataclass(frozen=True, slots=True)
class FileForm:
    """The schema of a kind of file, and how to pass its secrets instead of writing them into it."""

    schema: Mapping[str, Any]  # JSON schema; `x-expected` and `examples` become words
    how_to_give_keys: str
    secret_parts: tuple[str, ...] = ()  # settings whose values are not repeated
    key_parts: tuple[str, ...] = ()  # settings that hold a reference to a key, never the key

    def problems(self, document: Document) -> list[Problem]:
        """Return everything in a file that does not fit the schema, in the order of the file."""
        from jsonschema import Draft202012Validator  # heavy

        problems = [
            problem
            for error in Draft202012Validator(self.schema).iter_errors(document.value)
            for problem in _explain(error, document, self)
        ]
        return in_order(problems)

    def check(self, document: Document, source: str) -> None:
        """Raise `ConfigFileError` for a file that does not fit the schema."""
        if problems := self.problems(document):
            raise ConfigFileError(source, problems)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by their place in the file; those in other files come after it."""
    return sorted(problems, key=lambda it: (it.file, *((it.place.line, it.place.column) if it.place else (0, 0))))


class DocumentReader:
    """What readers of a file's settings share: the settings, and what the schema can't find wrong with them."""

    def __init__(self, source: str, document: Document) -> None:
        self._source_name = source
        self._document = document
        self._said: Mapping[str, Any] = document.value
        self._problems: list[Problem] = []

    def _wrong(self, path: Path, message: str, *, of_key: bool = False) -> None:
        self._problems.append(Problem(path, message, self._document.place(path, of_key=of_key)))

    def _raise_if_wrong(self) -> None:
        if self._problems:
            raise ConfigFileError(self._source_name, in_order(self._problems))


def _explain(error: Any, document: Document, form: FileForm) -> Iterator[Problem]:
    """Yield the problems of a `ValidationError`; it is Any because the stubs type only unraised ones."""
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        for name in sorted(set(error.instance) - set(known)):
            yield Problem((*path, name), _unknown(name, known, form), document.place((*path, name), of_key=True))
        return
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        for name in missing:
            part = error.schema["properties"][name]
            yield Problem(path, f"{name!r} is missing{_write(name, part)}", document.place(path))
        return
    if "propertyNames" in error.absolute_schema_path:
        place = document.place((*path, error.instance), of_key=True)
        yield Problem(path, f"expected {_expected(error)}{_given(error, path, form)}", place)
        return
    if path and path[-1] in form.key_parts and error.validator == "pattern":
        yield Problem(path, form.how_to_give_keys, document.place(path))
        return
    message = f"expected {_expected(error)}{_given(error, path, form)}{_write_value(path, error.schema)}"
    yield Problem(path, message, document.place(path))


def _unknown(name: str, known: Sequence[str], form: FileForm) -> str:
    if name in _KEY_NAMES:
        return f"there is no such setting; {form.how_to_give_keys}"
    return f"there is no such setting{nearest(name, known)}; there are: {', '.join(known)}"


def _expected(error: Any) -> str:
    schema = error.schema
    if "x-expected" in schema:
        return str(schema["x-expected"])
    if "enum" in schema:
        return " or ".join(str(value) for value in schema["enum"])
    if error.validator in ("minItems", "maxItems", "minLength", "maxLength"):
        bound = "at least" if str(error.validator).startswith("min") else "at most"
        unit = "entries" if str(error.validator).endswith("Items") else "characters"
        return f"{bound} {error.validator_value} {unit}"
    if error.validator == "uniqueItems":
        return "each entry once"
    kinds = schema.get("type", "object")
    return " or ".join(_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _kind(kind: str, schema: Mapping[str, Any]) -> str:
    if kind not in ("integer", "number"):
        return _KINDS[kind]
    noun = "a whole number" if kind == "integer" else "a number"
    bounds = []
    if "minimum" in schema:
        bounds.append(f"of {schema['minimum']:,} or more")
    if "exclusiveMinimum" in schema:
        bounds.append(f"above {schema['exclusiveMinimum']:,}")
    if "maximum" in schema:
        bounds.append(f"up to {schema['maximum']:,}")
    return " ".join([noun, *bounds])


def _given(error: Any, path: Path, form: FileForm) -> str:
    """Return what stands there instead, unless it may be secret."""
    value = error.instance
    if value is None:
        return ", not nothing"
    if isinstance(value, bool | int | float):
        return f", not {json.dumps(value)}"
    kind = "object" if isinstance(value, Mapping) else "array" if isinstance(value, list) else "string"
    if kind != "string" or any(part in form.secret_parts for part in path):
        return f", not {_KINDS[kind]}" if error.validator == "type" else ""
    text = redact(str(value))
    return f", not {text if len(text) <= _LONGEST_VALUE else f'{text[:_LONGEST_VALUE]}...'!r}"


def _write_value(path: Path, schema: Mapping[str, Any]) -> str:
    names = [step for step in path if isinstance(step, str)]
    return _write(names[-1], schema) if names and not isinstance(path[-1], int) else _write("", schema)


def _write(name: str, schema: Mapping[str, Any]) -> str:
    if not schema.get("examples"):
        return ""
    example = schema["examples"][0]
    shown = example if isinstance(example, str) and example else json.dumps(example)
    return f"; write for example `{name}: {shown}`" if name else f"; write for example `- {shown}`"

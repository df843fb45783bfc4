"""`FunctionArguments`: a tool's arguments from a typed function, with its schema and typed values."""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.structured.coerce import fitted
from tickmind.llm.structured.json_schema import without_titles
from tickmind.llm.structured.readers.fields import Field as ReplyField
from tickmind.llm.structured.readers.fields import fields_of_schema
from tickmind.tools.context import ToolContext
from tickmind.tools.definition.arguments import misfit
from tickmind.tools.definition.docstrings import Docstring
from tickmind.tools.plain import json_text

if TYPE_CHECKING:
    from pydantic import BaseModel

_VALUE_CHARS = 80
_AROUND_CONTEXT = (Annotated, typing.Union, types.UnionType)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of anything callable, resolved."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise LLMConfigError(
            f"the annotations of {getattr(target, '__qualname__', target)!r} can't be resolved ({error}); "
            "define the types that it names at the top of its module"
        ) from error


def context_parameter(function: Callable[..., Any]) -> str | None:
    """Return the name of the `ToolContext` parameter, if there is one."""
    for name, hint in hints_of(function).items():
        inside = typing.get_args(hint) if typing.get_origin(hint) in _AROUND_CONTEXT else ()
        if name != "return" and any((typing.get_origin(part) or part) is ToolContext for part in (hint, *inside)):
            return name
    return None


def _written_description(hint: Any) -> str:
    """Return the text of `Annotated[int, "how many"]`, or of a `Doc`."""
    if typing.get_origin(hint) is not Annotated:
        return ""
    for note in hint.__metadata__:
        text = note if isinstance(note, str) else getattr(note, "documentation", None)
        if isinstance(text, str):
            return text
    return ""


class FunctionArguments:
    """Check and type the arguments of one function, through a pydantic model that is made when first needed."""

    def __init__(self, function: Callable[..., Any], tool: str, docstring: Docstring) -> None:
        self._function = function
        self._tool = tool
        self._docstring = docstring
        try:
            self._parameters = inspect.signature(function).parameters
        except ValueError as error:
            raise LLMConfigError(f"tool {tool!r}: {error}; wrap it in a function with annotations") from error
        for parameter in self._parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                raise LLMConfigError(f"tool {tool!r}: *{parameter.name} has no JSON form; take a list instead")

    @functools.cached_property
    def context_name(self) -> str | None:
        """The parameter that gets the `ToolContext`."""
        return context_parameter(self._function)

    @functools.cached_property
    def _fields(self) -> dict[str, str]:
        """Name of the parameter -> name of the model's field, which can't collide with pydantic's own attributes."""
        named = [
            name
            for name, parameter in self._parameters.items()
            if name != self.context_name and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        return {name: f"p{place}" for place, name in enumerate(named)}

    @functools.cached_property
    def _takes_more(self) -> bool:
        return any(item.kind is inspect.Parameter.VAR_KEYWORD for item in self._parameters.values())

    @functools.cached_property
    def _model(self) -> "type[BaseModel]":
        from pydantic import ConfigDict, Field, PydanticUserError, create_model

        hints = hints_of(self._function)
        fields: dict[str, Any] = {}
        for name, field_name in self._fields.items():
            parameter = self._parameters[name]
            hint = hints.get(name, Any)
            options: dict[str, Any] = {"alias": name}
            if description := _written_description(hint) or self._docstring.arguments.get(name, ""):
                options["description"] = description
            if parameter.default is not inspect.Parameter.empty:
                options["default"] = parameter.default
            fields[field_name] = (hint, Field(**options))
        config = ConfigDict(extra="allow" if self._takes_more else "forbid", coerce_numbers_to_str=True)
        try:
            model: type[BaseModel] = create_model(f"{self._tool}_arguments", __config__=config, **fields)
        except PydanticUserError as error:
            raise LLMConfigError(
                f"tool {self._tool!r} has a parameter whose type has no JSON form; use numbers, strings, lists, "
                f"dataclasses or pydantic models ({str(error).splitlines()[0]})"
            ) from error
        return model

    @functools.cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema that the model sees."""
        from pydantic import PydanticUserError
        from pydantic.json_schema import GenerateJsonSchema

        class Quiet(GenerateJsonSchema):
            ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as declared above it

        try:
            schema = self._model.model_json_schema(by_alias=True, schema_generator=Quiet)
        except PydanticUserError as error:
            raise LLMConfigError(
                f"tool {self._tool!r} has a parameter whose type has no JSON schema ({str(error).splitlines()[0]})"
            ) from error
        plain: dict[str, Any] = without_titles(schema)
        plain.setdefault("properties", {})
        return plain

    @functools.cached_property
    def _shape(self) -> tuple[ReplyField, ...]:
        return fields_of_schema(self.schema)

    def bind(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return typed positional and keyword arguments; raises `ToolError` in words that a model can act on."""
        from pydantic import ValidationError

        try:
            values = self._model.model_validate(dict(arguments))
        except ValidationError:
            try:
                values = self._model.model_validate(fitted(arguments, self._shape))
            except ValidationError as second:
                problems = second.errors(include_url=False, include_context=False)
                raise misfit(self._tool, [self._in_words(problem) for problem in problems]) from None
        positional: list[Any] = []
        keywords: dict[str, Any] = dict(values.model_extra or {})
        for name, field_name in self._fields.items():
            value = getattr(values, field_name)
            if self._parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                keywords[name] = value
        return positional, keywords

    def _in_words(self, problem: Mapping[str, Any]) -> str:
        where = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "missing":
            return f"{where} is missing"
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            return f"{where} is not an argument; it takes {', '.join(self._fields) or 'none'}"
        message = str(problem["msg"])
        return f"{where}: {message[:1].lower()}{message[1:]}, not {json_text(problem['input'])[:_VALUE_CHARS]}"

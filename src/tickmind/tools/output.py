"""The typed answer of an agent: what the model is told of its form, and how its last reply becomes a value."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.messages import Message
from tickmind.llm.results import CUT_OFF
from tickmind.llm.structured import ReplySchema, feedback, form_instructions, read_reply, template
from tickmind.llm.structured.calls import RefusedForms
from tickmind.llm.transport import OutputSpec

T = TypeVar("T")
OutputForm = ReplySchema[T] | type[T] | Mapping[str, Any] | Sequence[str]


class TypedOutput(Generic[T]):
    """The form of an agent's answers. The endpoint is held to it beside the tools, unless it refused that before."""

    def __init__(self, schema: ReplySchema[T], refused: RefusedForms) -> None:
        self._schema = schema
        self._refused = refused
        self._spec = OutputSpec(schema.json_schema(), optional_as_null=True)

    @property
    def spec(self) -> OutputSpec | None:
        """What to hold the endpoint to; None if it can't be held to this."""
        return None if self._spec.schema in self._refused else self._spec

    def refuse(self) -> None:
        """Remember that the endpoint takes the same request without the form only."""
        self._refused.add(self._spec.schema)

    def instructions(self, *, with_tools: bool) -> str:
        """What the model is told."""
        words = form_instructions(self._schema)
        return f"Use the tools as you need them. Then give your final answer. {words}" if with_tools else words

    def read(self, text: str, finish_reason: str) -> T:
        """The value of an answer; raises `StructuredOutputError` that says what doesn't fit."""
        return read_reply(text, self._schema, cut=finish_reason in CUT_OFF).value

    def correction(self, text: str, error: StructuredOutputError) -> tuple[Message, ...]:
        """The turns that follow an answer of another form."""
        said, why = feedback(text, str(error), hint=template(self._schema))
        return (why,) if text else (said, why)

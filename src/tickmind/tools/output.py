"""`TypedOutput`: the type of an agent's answers, its instructions for the model, and the reading of the last reply."""

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
    """The form of an agent's answers. The endpoint is constrained to it beside the tools, unless it refused that."""

    def __init__(self, schema: ReplySchema[T], refused: RefusedForms) -> None:
        self._schema = schema
        self._refused = refused
        self._spec = OutputSpec(schema.json_schema(), optional_as_null=True)

    @property
    def spec(self) -> OutputSpec | None:
        """The constraint for the endpoint; None if it refused it."""
        return None if self._spec.schema in self._refused else self._spec

    def refuse(self) -> None:
        """Remember that the endpoint accepts the same request only without the form."""
        self._refused.add(self._spec.schema)

    def instructions(self, *, with_tools: bool) -> str:
        """Return the instructions for the model."""
        words = form_instructions(self._schema)
        return f"Use the tools as you need them. Then give your final answer. {words}" if with_tools else words

    def read(self, text: str, finish_reason: str) -> T:
        """Return the value of an answer; raises `StructuredOutputError` that says what doesn't fit."""
        return read_reply(text, self._schema, cut=finish_reason in CUT_OFF).value

    def correction(self, text: str, error: StructuredOutputError) -> tuple[Message, ...]:
        """Return the turns that follow an answer of another form."""
        said, why = feedback(text, str(error), hint=template(self._schema))
        return (why,) if text else (said, why)

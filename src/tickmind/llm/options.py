"""The keyword arguments that several clients share, typed."""

from collections.abc import Sequence
from typing import TypedDict

from tickmind.llm.structured.prompts import AskedForm
from tickmind.llm.transport import OutputSpec, ToolChoice, ToolSpec


class RequestOptions(TypedDict, total=False):
    """The keyword arguments of `ModelClient.complete` and `stream`.

    `tools` are those that the model may use, as `tool_choice` says, and several in one turn unless
    `parallel_tool_calls` is False; `output` is the form that the endpoint holds the reply to; `model` replaces the
    config's.
    """

    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    output: OutputSpec | None
    model: str | None


class StructuredOptions(TypedDict, total=False):
    """The keyword arguments of `ModelClient.complete_structured` and `stream_structured`.

    `form` is json, yaml, or line for a flat object in few tokens; `instruct` adds the wanted form to the system
    message; `hint` describes it in corrections instead of a generated template; `model` replaces the config's.
    """

    form: AskedForm
    hint: str
    instruct: bool
    model: str | None

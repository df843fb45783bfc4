"""One question to a model: reads the prompt, opens the model, shows the answer."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tickmind.base import ConfigError, Limit, TickmindError
from tickmind.cli.screen import Screen, one_line
from tickmind.llm import CallConfig, LLMResult, Message, ModelConfig, StructuredResult, load_model_config, merge_config
from tickmind.llm.local import ModelChoice, choose_model
from tickmind.llm.local.default_model import DefaultModel, local_choice, open_default_model, scripted_choice
from tickmind.llm.local.weights import WeightStore
from tickmind.llm.prices import cost_usd
from tickmind.llm.structured import ReplySchema
from tickmind.tools import (
    AgentResult,
    AgentTimeouts,
    QuestionAsked,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolAgent,
    ToolFinished,
    ToolStarted,
)

MAX_PROMPT_BYTES = Limit("size of the prompt from stdin", 4_000_000, "bytes")
MAX_SCHEMA_BYTES = Limit("size of the schema", 1_000_000, "bytes")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class AskError(TickmindError):
    """The model gave no answer."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The options of `tickmind ask`; empty or None if left out."""

    prompt: str
    system: str = ""
    schema: str = ""
    tools: bool = False
    model: str = ""
    base_url: str = ""
    api: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    local: str = ""
    scripted: bool = False
    cassette: Path | None = None

    @property
    def call(self) -> CallConfig:
        """The settings of the call."""
        return CallConfig(temperature=self.temperature, max_tokens=self.max_tokens, timeout_s=self.timeout_s)


def run_ask(options: AskOptions, out: TextIO, err: TextIO) -> None:
    """Ask and show the answer; raises a `TickmindError` if there is none."""
    prompt = _read_prompt() if options.prompt == "-" else options.prompt
    if not prompt.strip():
        raise ConfigError('there is nothing to ask; give a prompt, such as `tickmind ask "Who are you?"`')
    schema = read_schema(options.schema) if options.schema else None
    asyncio.run(_ask(options, prompt, schema, Screen(out, err)))


async def _ask(options: AskOptions, prompt: str, schema: ReplySchema[Any] | None, screen: Screen) -> None:
    choice = _choice(options)
    if isinstance(choice, ModelChoice):
        screen.note(f"{choice.why}{' It is being started.' if choice.weights else ''}")
    async with open_default_model(choice, cassette=options.cassette) as model:
        if not isinstance(choice, ModelChoice):
            screen.note(model.choice.why)
        if options.tools:
            await _ask_with_tools(options, prompt, model, screen)
        elif schema is not None:
            await _ask_for_object(options, prompt, schema, model, screen)
        else:
            await _ask_for_text(options, prompt, model, screen)


def _choice(options: AskOptions) -> ModelChoice | ModelConfig | None:
    if options.cassette is not None and options.cassette.exists():
        return None  # no model is called
    if options.scripted:
        return scripted_choice()
    if options.local:
        WeightStore().resolve(options.local)  # raises before anything starts
        return local_choice(options.local)
    if options.base_url or options.model or options.api:
        settings: dict[str, Any] = {"api": options.api} if options.api else {}
        return load_model_config(base_url=options.base_url or None, model=options.model or None, **settings)
    return choose_model()


def _messages(options: AskOptions, prompt: str) -> tuple[Message, ...]:
    system = (Message.system(options.system),) if options.system else ()
    return (*system, Message.user(prompt))


async def _ask_for_text(options: AskOptions, prompt: str, model: DefaultModel, screen: Screen) -> None:
    messages = _messages(options, prompt)
    async with model.client.stream(messages, options.call, model=options.model or None) as stream:
        try:
            async for chunk in stream:
                screen.thinking(chunk.thinking)
                screen.content(chunk.content)
        finally:
            screen.end()
        _sum_up(await stream.result, screen)


async def _ask_for_object(
    options: AskOptions, prompt: str, schema: ReplySchema[Any], model: DefaultModel, screen: Screen
) -> None:
    client, attempt = model.client, 1
    messages = _messages(options, prompt)
    async with client.stream_structured(messages, schema, options.call, model=options.model or None) as stream:
        try:
            async for update in stream:
                if update.attempt != attempt:
                    attempt = update.attempt
                    screen.note(f"The reply did not match the schema; asking the model again, attempt {attempt}.")
                screen.thinking(update.chunk.thinking)
                for name, value in update.completed:
                    screen.field(name, value)
        finally:
            screen.end()
        result = await stream.result
    screen.content(json.dumps(result.data, ensure_ascii=False, indent=2) + "\n")
    _sum_up(result, screen)


async def _ask_with_tools(options: AskOptions, prompt: str, model: DefaultModel, screen: Screen) -> None:
    from tickmind.cli.ask.tools import builtin_tools

    call = merge_config(model.client.config, options.call)
    agent = ToolAgent(
        model.client,
        builtin_tools(),
        model=options.model or model.client.config.model,
        system=options.system or None,
        temperature=call.temperature,
        max_output_tokens=call.max_tokens,
        timeouts=AgentTimeouts(request_s=call.timeout_s),
        answer_at_limit=True,
    )
    began_s = asyncio.get_running_loop().time()
    async with agent.stream(prompt) as stream:
        try:
            async for event in stream:
                match event:
                    case ThinkingDelta(text=text):
                        screen.thinking(text)
                    case TextDelta(text=text):
                        screen.content(text)
                    case ToolStarted(name=name, args=args):
                        screen.note(f"-> {name}({one_line(args)})")
                    case ToolFinished(name=name, ok=ok, result=said):
                        screen.note(f"<- {name}{'' if ok else ' failed'}: {one_line(said)}")
                    case QuestionAsked(name=name, question=question):
                        screen.note(f"?? {name}: {one_line(question)}")
        finally:
            screen.end()
        result = await stream.result()
    if result.error is not None:
        raise AskError(result.error.message)
    _sum_up_run(result, agent.config.model, asyncio.get_running_loop().time() - began_s, screen)


def _sum_up(result: LLMResult | StructuredResult[Any], screen: Screen) -> None:
    first_s = result.timing.first_token_s
    took = f"{result.timing.total_s:.2f} s"
    if first_s is not None:
        took += f", the first token after {first_s:.2f} s"
    facts = [took, _tokens(result.prompt_tokens, result.completion_tokens), _money(result.cost_usd)]
    if result.attempts > 1:
        facts.append(f"{result.attempts} attempts")
    screen.note(f"{result.model}: {'; '.join(fact for fact in facts if fact)}")
    _note_end(result.finish_reason, screen)


def _sum_up_run(result: AgentResult, model: str, took_s: float, screen: Screen) -> None:
    usage = result.usage
    uses = f"{result.steps} steps, {len(result.tool_trace)} tool calls"
    facts = [f"{took_s:.2f} s", uses, _tokens(usage.prompt_tokens, usage.completion_tokens)]
    facts.append(_money(cost_usd(model, usage)))
    screen.note(f"{model}: {'; '.join(fact for fact in facts if fact)}")
    if result.stopped is StopReason.MAX_STEPS:
        screen.note("The run stopped at its limit of steps.")
    _note_end(result.finish_reason, screen)


def _note_end(finish_reason: str, screen: Screen) -> None:
    if finish_reason == "length":
        screen.note("The answer was cut off at its limit; raise it with --max-tokens.")
    elif finish_reason not in ("stop", "tool_calls"):
        screen.note(f"The answer ended with: {finish_reason}.")


def _tokens(prompt: int | None, said: int | None) -> str:
    return "" if prompt is None or said is None else f"{prompt:,} + {said:,} tokens"


def _money(cost: float | None) -> str:
    return "" if cost is None else f"${cost:.6f}"


def _read_prompt() -> str:
    data = sys.stdin.buffer.read(int(MAX_PROMPT_BYTES.maximum) + 1)
    MAX_PROMPT_BYTES.check(len(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"the prompt from stdin is not UTF-8 text ({error.reason} at byte {error.start})") from error


def read_schema(text: str) -> ReplySchema[Any]:
    """Return the schema of a reply, from a JSON schema, a file with one, or names of fields."""
    text = text.strip()
    if text.startswith("{"):
        return ReplySchema.of(_read_json(text, "the schema"))
    path = Path(text)
    if path.suffix == ".json" or path.is_file():
        return ReplySchema.of(_read_json(_read_file(path), f"the schema in {path}"))
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if not names or wrong:
        said = f"{wrong[0][:40]!r} is none of them" if wrong else "there is none of them"
        raise ConfigError(f"--schema takes a JSON schema, a file with one, or names such as 'title,mood'; {said}")
    return ReplySchema.of(names)


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:  # it may be a pipe, which has no size
            data = file.read(int(MAX_SCHEMA_BYTES.maximum) + 1)
        MAX_SCHEMA_BYTES.check(len(data))
        return data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"the schema {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the schema {path} is not UTF-8 text") from error


def _read_json(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{what} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{what} must be a JSON object, not {type(value).__name__}")
    return value

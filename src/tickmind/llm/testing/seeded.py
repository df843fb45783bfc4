"""`SeededTransport`: a model whose answers look random and never change."""

import asyncio
import json
import random

from tickmind.llm.cassettes.format import request_key
from tickmind.llm.http.time_budget import Sleep
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.scripted.pieces import Cut
from tickmind.llm.scripted.sampling import WORDS, sample_json
from tickmind.llm.scripted.transport import ScriptedTransport
from tickmind.llm.tokens import CHARS_PER_TOKEN
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, ToolSpec, Usage

_MOST_PARALLEL_CALLS = 3


class SeededTransport(ScriptedTransport):
    """Make up answers from a seed: equal requests get equal answers, whatever else was asked before or at once.

    It gives objects that fit an `OutputSpec` and calls that fit the tools' schemas. `tool_rate` is how often it uses
    a tool that it may use; `thinking_rate` is how often it thinks first.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        tool_rate: float = 0.5,
        thinking_rate: float = 0.0,
        cut: Cut = 12,
        latency_s: float = 0.0,
        piece_latency_s: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        capabilities: Capabilities | None = None,
    ) -> None:
        super().__init__(
            self.reply,
            cut=cut,
            latency_s=latency_s,
            piece_latency_s=piece_latency_s,
            sleep=sleep,
            capabilities=capabilities,
        )
        self._seed = seed
        self._tool_rate = tool_rate
        self._thinking_rate = thinking_rate

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the answer to this request, without counting it."""
        rng = random.Random(f"{self._seed}:{request_key(request)}")
        thinking = (ThinkingBlock(_sentence(rng, 20)),) if rng.random() < self._thinking_rate else ()
        calls: tuple[ToolCall, ...] = ()
        if request.tools and request.tool_choice != "none":
            must = request.tool_choice == "required"
            if must or rng.random() < self._tool_rate:
                calls = _tool_calls(rng, request)
        content, finish_reason = "", "tool_calls"
        if not calls:
            content, finish_reason = _content(rng, request)
        said = sum(map(len, (content, *(block.text for block in thinking), *(call.arguments for call in calls))))
        heard = sum(len(message.text) for message in request.messages)
        return ModelReply(
            content=content,
            finish_reason=finish_reason,
            thinking=thinking,
            tool_calls=calls,
            usage=Usage(1 + heard // CHARS_PER_TOKEN, 1 + said // CHARS_PER_TOKEN),
            model=request.model,
            id=f"seeded-{rng.getrandbits(48):012x}",
        )


def _content(rng: random.Random, request: ModelRequest) -> tuple[str, str]:
    if request.output:
        return json.dumps(sample_json(request.output.schema, rng)), "stop"
    text = _sentence(rng, 30)
    words = text.split(" ")
    if request.max_tokens is not None and len(words) > request.max_tokens:
        return " ".join(words[: request.max_tokens]), "length"
    return text, "stop"


def _tool_calls(rng: random.Random, request: ModelRequest) -> tuple[ToolCall, ...]:
    count = rng.randint(1, _MOST_PARALLEL_CALLS) if request.parallel_tool_calls else 1
    return tuple(_tool_call(rng, rng.choice(request.tools)) for _ in range(count))


def _tool_call(rng: random.Random, tool: ToolSpec) -> ToolCall:
    arguments = sample_json({"type": "object", **tool.schema}, rng)
    return ToolCall(f"call_{rng.getrandbits(48):012x}", tool.name, json.dumps(arguments))


def _sentence(rng: random.Random, most_words: int) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(3, most_words))]
    return " ".join(words).capitalize() + "."

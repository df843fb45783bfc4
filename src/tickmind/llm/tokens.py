"""Count the tokens of a text or a conversation: an estimate by default, exact with a tokenizer of your own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tickmind.llm.messages import Audio, Image, Message, MessagesLike, as_messages

CHARS_PER_TOKEN = 4  # of English, roughly; real tokenizers take 3.5 to 4.5
MESSAGE_OVERHEAD_TOKENS = 4  # role, separators
CONVERSATION_OVERHEAD_TOKENS = 3
IMAGE_TOKENS = 765  # a picture in full detail, roughly
LOW_IMAGE_TOKENS = 85
AUDIO_BYTES_PER_TOKEN = 3200  # 16 kHz, 16 bit: ten tokens a second
DEFAULT_CONTEXT_TOKENS = 8192  # of an unknown model
CONTEXT_TOKENS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "gpt-6": 1_050_000,
    "gpt-oss-": 131_072,
    "openai/gpt-oss-": 131_072,
    "o1": 200_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude-haiku-5": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-": 200_000,
    "gemini-": 1_048_576,
}  # how a model's name begins -> its context


class TokenCounter(Protocol):
    """Count the tokens of a text; pass one to be exact for your model."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...


@dataclass(frozen=True, slots=True)
class CharTokenCounter:
    """Estimate by length, which is enough to decide when to summarise."""

    chars_per_token: float = CHARS_PER_TOKEN

    def count(self, text: str) -> int:
        """Return at least one token for any text."""
        return max(1, int(len(text) // self.chars_per_token)) if text else 0


_ESTIMATE = CharTokenCounter()


def context_tokens(model: str) -> int:
    """Return the size of a model's context in tokens, by its name; 8,192 for an unknown model."""
    name = model.rpartition("/")[2].lower()
    known = [tokens for start, tokens in CONTEXT_TOKENS.items() if name.startswith(start)]
    return known[0] if known else DEFAULT_CONTEXT_TOKENS


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes."""
    return _ESTIMATE.count(text)


def estimate_messages_tokens(messages: MessagesLike, *, counter: TokenCounter = _ESTIMATE) -> int:
    """Estimate how many tokens a conversation takes, with the overhead of each turn."""
    total = CONVERSATION_OVERHEAD_TOKENS
    for message in as_messages(messages):
        total += _message_tokens(message, counter)
    return total


def tokens_remaining(
    messages: MessagesLike,
    context_limit: int,
    max_completion_tokens: int,
    *,
    counter: TokenCounter = _ESTIMATE,
) -> int:
    """Estimate how many tokens the context has left before the reply no longer fits; negative if it is over."""
    return context_limit - estimate_messages_tokens(messages, counter=counter) - max_completion_tokens


def fit_to_context(
    messages: Sequence[Message],
    context_limit: int,
    max_completion_tokens: int,
    *,
    counter: TokenCounter = _ESTIMATE,
) -> tuple[Message, ...]:
    """Drop the oldest turns of a conversation, so that the reply fits into the context.

    Instructions, the last thing that the user said and the last turn stay, also where these alone are too long; a tool
    call goes only together with its results.
    """
    left = tokens_remaining(messages, context_limit, max_completion_tokens, counter=counter)
    if left >= 0:
        return tuple(messages)
    turns = _turns(messages)
    last_user = max((place for place, turn in enumerate(turns) if turn[0].role == "user"), default=-1)
    kept: list[list[Message]] = []
    for place, turn in enumerate(turns):
        is_pinned = turn[0].role == "system" or place in {last_user, len(turns) - 1}
        begins_midway = turn[0].role != "user" and not any(other[0].role == "user" for other in kept)
        if not is_pinned and (left < 0 or (begins_midway and place < last_user)):
            left += sum(_message_tokens(message, counter) for message in turn)
        else:
            kept.append(turn)
    return tuple(message for turn in kept for message in turn)


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Group the messages, each reply together with the results of the tools that it called."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and turns:
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _message_tokens(message: Message, counter: TokenCounter) -> int:
    total = MESSAGE_OVERHEAD_TOKENS + counter.count(message.role) + counter.count(message.text)
    for part in message.parts:
        if isinstance(part, Image):
            total += LOW_IMAGE_TOKENS if part.detail == "low" else IMAGE_TOKENS
        elif isinstance(part, Audio):
            total += max(1, len(part.data) // AUDIO_BYTES_PER_TOKEN)
    for call in message.tool_calls:
        total += MESSAGE_OVERHEAD_TOKENS + counter.count(call.name) + counter.count(call.arguments)
    for block in message.thinking:
        total += counter.count(block.text)
    return total

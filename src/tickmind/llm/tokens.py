"""How many tokens a text or a conversation takes: an estimate by default, exact with a tokenizer of your own."""

from dataclasses import dataclass
from typing import Protocol

from tickmind.llm.messages import Audio, Image, Message, MessagesLike, as_messages

CHARS_PER_TOKEN = 4  # of English, roughly; real tokenizers take 3.5 to 4.5
MESSAGE_OVERHEAD_TOKENS = 4  # role, separators
CONVERSATION_OVERHEAD_TOKENS = 3
IMAGE_TOKENS = 765  # a picture in full detail, roughly
LOW_IMAGE_TOKENS = 85
AUDIO_BYTES_PER_TOKEN = 3200  # 16 kHz, 16 bit: ten tokens a second


class TokenCounter(Protocol):
    """Counts the tokens of a text; give one to be exact for your model."""

    def count(self, text: str) -> int:
        """The number of tokens."""
        ...


@dataclass(frozen=True, slots=True)
class CharTokenCounter:
    """Estimates by length, which is enough to decide when to summarise."""

    chars_per_token: float = CHARS_PER_TOKEN

    def count(self, text: str) -> int:
        """At least one token for any text."""
        return max(1, int(len(text) // self.chars_per_token)) if text else 0


_ESTIMATE = CharTokenCounter()


def estimate_tokens(text: str) -> int:
    """About how many tokens a text takes."""
    return _ESTIMATE.count(text)


def estimate_messages_tokens(messages: MessagesLike, *, counter: TokenCounter = _ESTIMATE) -> int:
    """About how many tokens a conversation takes, with what each turn costs beside its text."""
    return CONVERSATION_OVERHEAD_TOKENS + sum(_message_tokens(item, counter) for item in as_messages(messages))


def tokens_remaining(
    messages: MessagesLike,
    context_limit: int,
    max_completion_tokens: int,
    *,
    counter: TokenCounter = _ESTIMATE,
) -> int:
    """About how many tokens more the context takes before the reply no longer fits; negative if it is over already."""
    return context_limit - estimate_messages_tokens(messages, counter=counter) - max_completion_tokens


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

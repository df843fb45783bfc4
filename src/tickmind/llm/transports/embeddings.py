"""Embeddings by the OpenAI-compatible `/embeddings`, carried like any other call, so that they are paced and kept.

The last message of a request is a JSON list of texts. The reply is a JSON object: the sum of each text by
[`text_sum`][tickmind.base.text_sum], and its vector as base64 of whole numbers, a byte each. Long vectors are folded to
256 numbers first, which keeps their likeness nearly as it is.
"""

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tickmind.base import Limit, text_sum
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMResponseError
from tickmind.llm.http.client import HttpClient
from tickmind.llm.transport import ModelReply, ModelRequest, Usage
from tickmind.llm.transports.chat import ChatDecoder, ChatForm
from tickmind.llm.transports.wire import Json, WireTransport, as_count, as_list, as_object, as_text, parse_object

MAX_TEXTS = Limit("number of texts in one call for embeddings", 64)
MAX_NUMBERS = Limit("numbers in one embedding", 16_384)
FOLDED = 256  # numbers of a vector that is kept


class EmbeddingTransport(WireTransport):
    """Ask an endpoint what texts mean."""

    def __init__(self, config: ModelConfig, *, http: HttpClient | None = None) -> None:
        super().__init__(config, EmbeddingForm(), http=http)


class EmbeddingForm(ChatForm):
    """The wire form by itself, without a network."""

    path = "/embeddings"

    def encode(self, request: ModelRequest, *, stream: bool) -> Json:  # noqa: ARG002  there are no streams
        """Encode the texts in the last message."""
        return {"model": request.model, "input": texts_of(request), "encoding_format": "float"}

    def decode(self, data: bytes, request: ModelRequest) -> ModelReply:
        """Read the vectors; raises `LLMResponseError` if there is not one for each text."""
        texts, body = texts_of(request), parse_object(data)
        rows = [as_object(one) for one in as_list(body.get("data"))]
        rows.sort(key=lambda row: as_count(row.get("index")) or 0)
        if len(rows) != len(texts):
            raise LLMResponseError(f"the endpoint returned {len(rows)} embeddings for {len(texts)} texts")
        vectors = {str(text_sum(text)): _kept(row.get("embedding")) for text, row in zip(texts, rows, strict=True)}
        usage = Usage(as_count(as_object(body.get("usage")).get("prompt_tokens")), 0)
        return ModelReply(json.dumps(vectors), "stop", usage=usage, model=as_text(body.get("model")))

    def decoder(self, request: ModelRequest) -> ChatDecoder:  # noqa: ARG002  there is none
        """Raise `LLMResponseError`: embeddings come whole."""
        raise LLMResponseError("embeddings can't be streamed")


def texts_of(request: ModelRequest) -> list[str]:
    """Return the texts of a request. Raises `LLMResponseError` if its last message is no list of texts."""
    try:
        texts = json.loads(request.messages[-1].text)
    except (ValueError, IndexError):
        texts = None
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise LLMResponseError("a request for embeddings must be a JSON list of texts")
    if not MAX_TEXTS.allows(len(texts)):
        raise LLMResponseError(f"{len(texts)} texts are too many for one call; {MAX_TEXTS}")
    return texts


def _kept(embedding: Any) -> str:
    """Return a vector as it is kept."""
    if not isinstance(embedding, list) or not embedding or not MAX_NUMBERS.allows(len(embedding)):
        raise LLMResponseError("an embedding must be a list of numbers, and not too long")
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in embedding):
        raise LLMResponseError("an embedding must be a list of numbers")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            row = folded_row(embedding)
        largest = float(np.abs(row).max())
    except OverflowError:  # a whole number that is too large for any other
        largest = math.inf
    if not math.isfinite(largest):
        raise LLMResponseError("an embedding must be finite")
    return base64.b64encode(np.rint(row / (largest or 1.0) * 127).astype(np.int8).tobytes()).decode()


def folded_row(numbers: Sequence[float]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return a vector of at most 256 numbers that is about as like others as a longer one.

    Each number is added to one of them, with a sign; both are always the same for a place.
    """
    row = np.asarray(numbers, dtype=np.float64)
    if len(row) <= FOLDED:
        return row
    chance = np.random.default_rng(0)
    signs, places = chance.choice((-1.0, 1.0), len(row)), chance.permutation(len(row)) % FOLDED
    folded = np.zeros(FOLDED)
    np.add.at(folded, places, row * signs)
    return folded

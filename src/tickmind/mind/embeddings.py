"""Embeddings: what texts mean, as vectors; of words without a service or a network, or of an endpoint."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import ConfigError, Limit, text_sum
from tickmind.mind.memory.vectors import Embed

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = "words"
ENDPOINT = "endpoint"
EMBEDDING_NAMES = (WORDS, ENDPOINT)
MAX_WANTED = Limit("number of texts that wait for their embeddings", 700)
MAX_SPLIT_WORDS = Limit("number of words whose tokens are kept", 4096)
MAX_SPLIT_CHARS = Limit("length of a word whose tokens are kept", 24, "characters")
MAX_QUESTIONS = Limit("number of questions whose embeddings are kept", 32)
_NUMBERS = 256  # in a row, at most
_NOT_INSTALLED = "embeddings of words need {}, which is not installed: `pip install 'tickmind[mind]'`"
_WEIGHTS, _TENSOR = "weights/l2_supercat_256.safetensors", "embedding.weight"
_NO_SPLIT = re.compile("^ | $|  |[<\u2581]")  # where tokens reach beyond a word: spaces in a row, special tokens
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def find_embeddings(name: str) -> Embed | None:
    """Return the embeddings of that name: `words`, or those of an `endpoint`, for which a mind asks beside its ticks.

    None if the name is empty. Raises `ConfigError` for other names.
    """
    if not name:
        return None
    if name == ENDPOINT:
        return AskedEmbeddings()
    if name != WORDS:
        raise ConfigError(
            f"there are no embeddings {name!r}; choose {WORDS!r} or {ENDPOINT!r}, or leave the setting out"
        )
    return word_embeddings()


class AskedEmbeddings:
    """Embeddings of a service that answers later: a text whose row has not come yet is like no other.

    embed = AskedEmbeddings()
    memory = Memory(embed=embed)
    memory.recall(tick, question)                 # goes by words
    texts = embed.wanted(8)                       # ask the service about them, beside the ticks
    memory.learn_meanings(embed.learn(replies))   # from now on it goes by meaning, too
    """

    def __init__(self) -> None:
        self._wanted: dict[str, None] = {}  # texts whose rows have not come, the oldest first
        self._learnt: dict[str, NDArray[np.float32]] = {}  # the last texts that came, as questions are asked again

    def __call__(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the rows that have come; those of other texts are zero, and the texts are wanted."""
        known = [self._learnt.get(text) for text in texts]
        for text, row in zip(texts, known, strict=True):
            if row is None and text.strip() and MAX_WANTED.allows(len(self._wanted) + 1):
                self._wanted[text] = None
        rows = np.zeros((len(texts), _NUMBERS), dtype=np.float32)
        for place, row in enumerate(known):
            if row is not None:
                rows[place, : len(row)] = row
        return rows

    def wanted(self, most: int) -> list[str]:
        """Return the texts to ask about next."""
        return list(islice(self._wanted, most))

    def is_wanted(self, text: str) -> bool:
        """Return whether the row of a text is still to come."""
        return text in self._wanted

    def learn(self, reply: Mapping[str, object]) -> "dict[str, NDArray[np.float32]]":
        """Take rows from a reply, by the sums of their texts as base64 of bytes; return those that were wanted."""
        sums = {str(text_sum(text)): text for text in self._wanted}
        learnt: dict[str, NDArray[np.float32]] = {}
        for number, packed in reply.items():
            text = sums.get(number)
            if text is None or not isinstance(packed, str):
                continue
            try:
                row = np.frombuffer(base64.b64decode(packed, validate=True), dtype=np.int8).astype(np.float32)
            except ValueError:
                continue  # it stays wanted
            if 0 < len(row) <= _NUMBERS:
                learnt[text] = row
        for text, row in learnt.items():
            del self._wanted[text]
            self._learnt[text] = row
        while not MAX_QUESTIONS.allows(len(self._learnt)):
            del self._learnt[next(iter(self._learnt))]
        return learnt


@cache
def word_embeddings() -> Embed:
    """Return `embed` for `Memory`: a text means the sum of what its tokens mean, in 256 numbers.

    The first call in a process loads the weights, which takes a third of a second; later calls return the same. The
    same text gives the same row on every machine, alone or among others. Raises `ConfigError` if the extra `mind` is
    not installed.

        memory = Memory(embed=word_embeddings())
    """
    # The package wordllama is not imported, only its files are read: the import loads an HTTP client and changes the
    # log of the whole process, and its loader looks for the tokenizer on the network.
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise ConfigError(_NOT_INSTALLED.format(error.name)) from None
    package = find_spec("wordllama")
    if package is None or not package.submodule_search_locations:
        raise ConfigError(_NOT_INSTALLED.format("wordllama"))
    folder = Path(package.submodule_search_locations[0])
    try:
        meanings: NDArray[np.float16] = load_file(folder / _WEIGHTS)[_TENSOR]  # token -> its row
        tokenizer = Tokenizer.from_str((folder / _TOKENIZER).read_text(encoding="utf-8"))
    except (OSError, KeyError, SafetensorError) as error:
        raise ConfigError(
            f"the files of wordllama can't be read ({error}); install it again: `pip install 'tickmind[mind]'`"
        ) from None

    tokens_of = _tokens_by_words(lambda text: tokenizer.encode(text, add_special_tokens=False).ids)

    def embed(texts: Sequence[str]) -> "NDArray[np.float32]":
        rows = np.empty((len(texts), meanings.shape[1]), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            known = text.lower().encode(errors="replace").decode()  # a lone surrogate has no tokens
            meanings.take(tokens_of(known), axis=0).sum(axis=0, dtype=np.float32, out=row)
        return rows

    return embed


def _tokens_by_words(encode: Callable[[str], list[int]]) -> Callable[[str], list[int]]:
    """Return `encode` with the tokens of known words kept, which takes a fifth of the time for the same tokens.

    The tokens of a text are those of its words, one after another: none of the vocabulary has a space in its middle.
    """
    known: dict[str, list[int]] = {}

    def tokens_of(text: str) -> list[int]:
        if _NO_SPLIT.search(text):
            return encode(text)
        tokens: list[int] = []
        for word in text.split(" "):
            vector = known.get(word)
            if vector is None:
                vector = encode(word)
                if MAX_SPLIT_CHARS.allows(len(word)):
                    if not MAX_SPLIT_WORDS.allows(len(known) + 1):
                        known.clear()
                    known[word] = vector
            tokens += vector
        return tokens

    return tokens_of

"""Embeddings: what texts mean, as vectors. They need no service and no network."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import ConfigError
from tickmind.mind.memory.vectors import Embed

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = "words"
_NOT_INSTALLED = "embeddings of words need {}, which is not installed: `pip install 'tickmind[mind]'`"
_WEIGHTS, _TENSOR = "weights/l2_supercat_256.safetensors", "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def find_embeddings(name: str) -> Embed | None:
    """Return the embeddings of that name: `words`; None if the name is empty. Raises `ConfigError` for other names."""
    if not name:
        return None
    if name != WORDS:
        raise ConfigError(f"there are no embeddings {name!r}; choose {WORDS!r}, or leave the setting out")
    return word_embeddings()


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

    def embed(texts: Sequence[str]) -> "NDArray[np.float32]":
        rows = np.empty((len(texts), meanings.shape[1]), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            known = text.lower().encode(errors="replace").decode()  # a lone surrogate has no tokens
            tokens = tokenizer.encode(known, add_special_tokens=False).ids
            meanings[tokens].sum(axis=0, dtype=np.float32, out=row)
        return rows

    return embed

"""Bit packing: codes in as few bits as they need, in Parquet's format."""

import sys

import numpy as np

from tickmind.record.columns import Column

_AT_ONCE = 1 << 17  # codes: as many as fit into the cache
_WORD = 64


def pack_bits(codes: Column, width: int) -> bytes:
    """Pack codes of one byte or of four, each below `2 ** width`; zeros fill up the last eight."""
    assert sys.byteorder == "little"
    pack = _pack_bytes if codes.itemsize == 1 else _pack_words
    return b"".join(pack(codes[start : start + _AT_ONCE], width) for start in range(0, len(codes), _AT_ONCE))


def _filled(codes: Column, multiple: int) -> Column:
    """Pad with zeros to a multiple."""
    rest = -len(codes) % multiple
    return np.concatenate([codes, np.zeros(rest, dtype=codes.dtype)]) if rest else np.ascontiguousarray(codes)


def _pack_bytes(codes: Column, width: int) -> bytes:
    """Pack bytes: eight codes lie in a word already, and the gaps are closed two by two, then four by four."""
    words = _filled(codes, 8).view(np.uint64)
    for lane, bits in ((8, width), (16, 2 * width), (32, 4 * width)):
        words = _closer(words, lane, bits)
    packed: Column = words.view(np.uint8).reshape(-1, 8)[:, :width]
    return packed.tobytes()


def _closer(words: Column, lane: int, bits: int) -> Column:
    """Move every second lane next to the used bits of the one before it."""
    low = np.uint64(sum(((1 << bits) - 1) << place for place in range(0, _WORD, 2 * lane)))
    moved = words >> np.uint64(lane - bits)
    moved &= low << np.uint64(bits)
    moved |= words & low
    return moved


def _pack_words(codes: Column, width: int) -> bytes:
    """Pack words: two codes lie in a word; 32 such words, each of twice the width, become `width` whole ones."""
    pairs = _closer(_filled(codes, _WORD).view(np.uint64), 32, width)
    rows: Column = np.ascontiguousarray(pairs.reshape(-1, _WORD // 2).T)
    packed: Column = np.zeros((width, rows.shape[1]), dtype=np.uint64)
    for number, row in enumerate(rows):
        word, place = divmod(2 * width * number, _WORD)
        packed[word] |= row << np.uint64(place)
        if place + 2 * width > _WORD:
            packed[word + 1] |= row >> np.uint64(_WORD - place)
    return packed.T.tobytes()[: -(-len(codes) // 8) * width]

"""Masking looks for words before it looks for shapes; what it masks must not depend on that."""

import re
import sys
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import MASK, redact
from tickmind.base.secret import _ODD_LETTERS, mask_known

# Every shape, tried on every text, with the whole name in front of a value.
SHAPES = (
    re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[\w\-.~+/=]{6,}", re.IGNORECASE),
    re.compile(
        r"(?P<keep>[\"']?\b[\w\-]*(?:api[_\-]?key|authorization|passw(?:or)?d|secret|(?<!max_)token)[\"']?\s*[:=]\s*[\"']?)"
        r"(?!bearer\b|basic\b)[^\s\"'&,;}\])]{6,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>\b(?:sk|pk|gsk|csk|rk|xai|ghp|hf|AIza)[\-_])[A-Za-z0-9_\-]{6,}"),
    re.compile(r"(?P<keep>://)[^/\s:@]+:[^/\s@]+(?=@)"),
)
PARTS = [
    "api_key", "API-Key", "apikey", "authorization", "Authorization", "password", "passwd", "secret", "token",
    "max_token", "bearer", "Basic", "BEARER", "sk-", "gsk_", "xai-", "hf_", "AIza-", "ghp_", "://", "@", ":", "=",
    ": ", "= ", '"', "'", " ", "-", "_", "\n", "x-", "&", "}", "abcdef123", "user", "to\u212aen", "\u017fecret",
    "pa\u017f\u017fwd", "bas\u0131c", "bas\u0130c", "author\u0130zation", "\u00e9", "\U0001f600", "ba\u017fic",
]  # fmt: skip


def slowly(text: str) -> str:
    text = mask_known(text)
    for shape in SHAPES:
        text = shape.sub(lambda match: match["keep"] + MASK, text)
    return text


# One part in front of another, with what may stand between them, so that every name meets every mark and value.
BETWEEN = ("", " ", ":", "= ", " : ", '": "', "='", "-", "_", "\n")
VALUES = ("abcdef123", "short", "user:abcdef@", "Bearer abcdef123", "x-abcdef&abcdef")


@pytest.mark.parametrize("before", ["", "x-", "max_", "\u00e9"])
def test_the_quick_way_masks_every_name_mark_and_value_as_the_slow_way_does(before):
    for part, between, value in product(PARTS, BETWEEN, VALUES):
        text = f"{before}{part}{between}{value}"
        assert redact(text) == slowly(text)


@settings(max_examples=short_or_long(100, 1000))
@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=8), max_size=12).map("".join))
def test_the_quick_way_masks_what_the_slow_way_masks(text):
    assert redact(text) == slowly(text)


def test_no_other_letters_pass_for_ascii_ones_where_case_is_ignored():
    others = "".join(map(chr, range(128, sys.maxunicode + 1)))
    assert set(re.findall("[a-z]", others, re.IGNORECASE)) == set(_ODD_LETTERS)

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import MASK, Secret, redact, redact_fields
from tickmind.base.secret import MAX_KNOWN_SECRETS

CANARY = "canary-4f9a8b7c6d5e"


def test_a_secret_does_not_show_itself():
    secret = Secret(CANARY)
    assert CANARY not in f"{secret} {secret!r} {[secret]} {secret:>20}"
    assert secret.reveal() == CANARY


def test_equal_secrets_are_equal_and_an_empty_one_is_false():
    assert Secret(CANARY) == Secret(CANARY)
    assert len({Secret(CANARY), Secret(CANARY)}) == 1
    assert not Secret("")


def test_a_lasting_secret_is_masked_however_many_come_after_it():
    Secret("passing-0a1b2c3d4e5f")
    Secret("lasting-0a1b2c3d4e5f", lasting=True)
    for number in range(int(MAX_KNOWN_SECRETS.maximum) + 1):
        Secret(f"another-{number:08}")
    Secret("lasting-0a1b2c3d4e5f")  # the same value, brought by somebody else, changes nothing
    assert redact("passing-0a1b2c3d4e5f lasting-0a1b2c3d4e5f") == f"passing-0a1b2c3d4e5f {MASK}"


def test_a_secret_is_not_pickled():
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(Secret(CANARY))
    with pytest.raises(TypeError, match="can't be pickled"):
        copy.deepcopy(Secret(CANARY))


@given(st.text(), st.text())
def test_a_known_secret_is_masked_wherever_it_stands(before, after):
    Secret(CANARY)
    assert CANARY not in redact(before + CANARY + after)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef1234567890",
        'api_key="zzzz99998888"',
        "OPENAI_API_KEY=zzzz99998888",
        "password: zzzz99998888",
        "token=zzzz99998888&x=1",
        "https://user:zzzz99998888@host/path",
        "gsk_zzzz99998888",
        "sk-proj-zzzz99998888",
        "{'x-api-key': 'zzzz99998888'}",
    ],
)
def test_what_looks_like_a_secret_is_masked(text):
    masked = redact(text)
    assert MASK in masked
    assert "zzzz99998888" not in masked
    assert "abcdef1234567890" not in masked


@pytest.mark.parametrize(
    "text", ["max_tokens=1234567", "tick 7 overran by 3 ms", "tokens: 120000", "the secret garden"]
)
def test_ordinary_text_is_left_alone(text):
    assert redact(text) == text


def test_fields_are_masked_by_name_and_by_content_at_any_depth():
    Secret(CANARY)
    fields = {
        "api_key": "short",
        "tokens": 12,
        "headers": {"Authorization": "x", "deep": [f"a {CANARY} b", {"password": "y"}]},
        "error": ValueError(CANARY),
    }
    assert redact_fields(fields) == {
        "api_key": MASK,
        "tokens": 12,
        "headers": {"Authorization": MASK, "deep": [f"a {MASK} b", {"password": MASK}]},
        "error": f"ValueError('{MASK}')",
    }

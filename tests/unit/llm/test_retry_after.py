import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.http.retry_after import parse_retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "2"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Tue, 99 Foo 2023"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_every_form_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, now_wall_s=NOW) == seconds


@given(st.text(max_size=40))
def test_nothing_in_it_raises(text: str) -> None:
    wait = parse_retry_after({"retry-after": text}, now_wall_s=NOW)
    assert wait is None or (math.isfinite(wait) and wait >= 0)

"""`tickmind ask` at an endpoint that answers 200 and says nothing: it fails, and says why."""

import pytest

from tickmind.llm.testing import (
    EmptyReply,
    ErrorBeside,
    ErrorLine,
    FakeProvider,
    HtmlPage,
    Step,
    UnframedError,
    WrongType,
)

STEPS: list[Step] = [
    HtmlPage(),
    WrongType(),
    WrongType(content_type=""),
    UnframedError(),
    UnframedError(content_type="text/plain"),
    EmptyReply(),
    ErrorLine(),
    ErrorBeside(402),
    ErrorBeside(502),
]


@pytest.mark.parametrize("step", STEPS, ids=repr)
@pytest.mark.parametrize("more", [(), ("--tools",)], ids=["plain", "tools"])
def test_ask_exits_non_zero_where_there_is_no_answer(tickmind, monkeypatch, step, more):
    with FakeProvider.in_thread([step]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("LLM_API_KEY", "key")
        result = tickmind("ask", *more, "Hello?")
    assert result.exit_code != 0
    assert "error" in result.stderr.lower() or "the endpoint" in result.stderr or "answered" in result.stderr

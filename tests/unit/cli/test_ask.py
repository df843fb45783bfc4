"""`tickmind ask` against a provider on this machine: what is said where, and how it ends."""

import json
import random
from collections.abc import Iterator

import pytest

from tickmind.base import ManualClock
from tickmind.cli.ask.tools import builtin_tools
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.testing import EchoHeaders, FakeProvider, Refuse, Respond
from tickmind.llm.transport import ModelReply

SCHEMA = {"type": "object", "properties": {"mood": {"enum": ["calm", "angry"]}}, "required": ["mood"]}


@pytest.fixture
def provider(monkeypatch, canary) -> Iterator[FakeProvider]:
    with FakeProvider.in_thread(models=("fake-1",)) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("LLM_API_KEY", canary)
        monkeypatch.setenv("LLM_MODEL", "fake-1")
        yield server


@pytest.fixture
def ask(tickmind, canary):
    """`tickmind ask`; whatever it says, it never says the key."""

    def run(*arguments, before=(), stdin=""):
        result = tickmind(*before, "ask", *arguments, stdin=stdin)
        assert canary not in result.output
        return result

    return run


# A text


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(provider, ask, canary):
    provider.enqueue(ModelReply("The sky is blue.", "stop", thinking=(ThinkingBlock("Let me look up."),)))
    result = ask("What colour is the sky?")
    assert (result.exit_code, result.stdout) == (0, "The sky is blue.\n")
    assert "Using fake-1 at 127.0.0.1, because LLM_BASE_URL is set." in result.stderr
    assert "the first token after" in result.stderr
    assert "tokens" in result.stderr
    assert "Let me look up." not in result.output
    assert provider.seen[0].streams
    assert provider.seen_keys == [canary]


def test_options_reach_the_model(provider, ask):
    ask("--system", "Be brief.", "--temperature", "0", "--max-tokens", "7", "--model", "other", "Hi")
    request = provider.seen[0].request
    assert request is not None
    assert (request.model, request.temperature, request.max_tokens) == ("other", 0.0, 7)
    assert [(message.role, message.text) for message in request.messages] == [("system", "Be brief."), ("user", "Hi")]


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_every_wire_form_is_spoken(api, provider, ask):
    provider.enqueue("Good day.")
    assert ask("--api", api, "Hi").stdout == "Good day.\n"
    assert provider.seen[0].wire == api


def test_the_endpoint_can_be_given(provider, ask, monkeypatch):
    monkeypatch.delenv("LLM_BASE_URL")
    provider.enqueue("Here.")
    result = ask("--base-url", provider.base_url, "Hi")
    assert result.stdout == "Here.\n"
    assert "as asked" in result.stderr


def test_the_prompt_can_come_from_stdin(provider, ask):
    ask("-", stdin="From a pipe: \u00e9")
    request = provider.seen[0].request
    assert request is not None
    assert request.messages[-1].text == "From a pipe: \u00e9"


def test_a_prompt_that_is_no_text_is_refused(ask):
    result = ask("--scripted", "-", stdin=b"\xff\xfe")
    assert result.exit_code == 1
    assert "not UTF-8" in result.stderr


def test_an_empty_prompt_is_refused(ask):
    assert "nothing to ask" in ask("--scripted", "-").stderr


def test_an_answer_that_was_cut_off_says_what_to_do(provider, ask):
    provider.enqueue(ModelReply("The sky is", "length"))
    assert "--max-tokens" in ask("Hi").stderr


# An object


def test_field_names_ask_for_an_object(provider, ask):
    provider.enqueue('Sure! {"title": "Dawn", "mood": "calm"}')
    result = ask("--schema", "title, mood", "A poem")
    assert json.loads(result.stdout) == {"title": "Dawn", "mood": "calm"}
    assert result.exit_code == 0


def test_a_schema_can_be_given_as_json_or_as_a_file(provider, ask, tmp_path):
    file = tmp_path / "mood.json"
    file.write_text(json.dumps(SCHEMA))
    for schema in (json.dumps(SCHEMA), str(file)):
        provider.enqueue('{"mood": "calm"}')
        assert json.loads(ask("--schema", schema, "How is it?").stdout) == {"mood": "calm"}


def test_an_object_that_does_not_fit_is_asked_for_again_and_that_is_said(provider, ask):
    provider.enqueue('{"mood": "purple"}', '{"mood": "angry"}')
    result = ask("--schema", json.dumps(SCHEMA), "How is it?")
    assert json.loads(result.stdout) == {"mood": "angry"}
    assert "attempt 2" in result.stderr


def test_no_object_at_all_is_an_error(provider, ask):
    provider.enqueue("no", "no", "no")
    result = ask("--schema", json.dumps(SCHEMA), "How is it?")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no usable object after 3 attempts" in result.stderr


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{not json", "is not JSON"),
        ("nowhere.json", "can't be read"),
        ("two words, ok", "'two words' is none of them"),
        (",", "there is none of them"),
    ],
)
def test_a_wrong_schema_is_explained(schema, words, ask):
    result = ask("--scripted", "--schema", schema, "Hi")
    assert result.exit_code == 1
    assert words in result.stderr


# Tools


def test_tools_are_used_and_shown(provider, ask):
    provider.enqueue(
        ModelReply("", "tool_calls", tool_calls=(ToolCall("c1", "calculate", '{"expression": "6*7"}'),)),
        "It is 42.",
    )
    result = ask("--tools", "What is 6 times 7?")
    assert (result.exit_code, result.stdout) == (0, "It is 42.\n")
    assert '-> calculate({"expression": "6*7"})' in result.stderr
    assert "<- calculate: 42" in result.stderr
    assert "2 steps, 1 tool calls" in result.stderr


def test_a_tool_that_fails_is_shown_and_told_to_the_model(provider, ask):
    provider.enqueue(
        ModelReply("", "tool_calls", tool_calls=(ToolCall("c1", "calculate", '{"expression": "1/0"}'),)), "I can't."
    )
    result = ask("--tools", "What is 1/0?")
    assert "<- calculate failed" in result.stderr
    assert "divides by zero" in result.stderr
    assert result.exit_code == 0


def test_a_run_that_fails_is_an_error(provider, ask):
    provider.enqueue(Refuse(500, "the roof is on fire"))
    result = ask("--tools", "Hi")
    assert result.exit_code == 1
    assert "the roof is on fire" in result.stderr


def test_the_tools_do_what_they_say():
    clock, rng = ManualClock(wall=0.0), random.Random(1)
    now, calculate, dice = builtin_tools(clock=clock, rng=rng)
    assert now() == "Thursday, 1970-01-01 00:00:00 (UTC+0000)"
    assert now(utc_offset_hours=-2.5) == "Wednesday, 1969-12-31 21:30:00 (UTC-0230)"
    assert calculate("2*(3+4)") == "14"
    rolled = dice(sides=20, count=3)
    assert rolled["total"] == sum(rolled["rolls"])
    assert len(rolled["rolls"]) == 3


@pytest.mark.parametrize(("name", "arguments"), [("roll_dice", {"count": 0}), ("roll_dice", {"sides": 1})])
@pytest.mark.asyncio
async def test_a_tool_refuses_what_makes_no_sense(name, arguments):
    tool = {tool.name: tool for tool in builtin_tools()}[name]
    assert not (await tool.execute(arguments)).ok


# Which model


def test_without_anything_a_scripted_double_answers_and_says_so(ask, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # no llama-server
    result = ask("Hello")
    assert result.exit_code == 0
    assert "scripted" in result.stdout
    assert "Using a scripted double and no model" in result.stderr


def test_the_double_needs_no_endpoint_even_where_one_is_set(provider, ask):
    assert ask("--scripted", "Hi").exit_code == 0
    assert provider.seen == []


def test_the_double_gives_objects_and_ends_tool_runs(ask):
    assert json.loads(ask("--scripted", "--schema", json.dumps(SCHEMA), "Hi").stdout)["mood"] in ("calm", "angry")
    assert "The tools answered: current_time" in ask("--scripted", "--tools", "Hi").stdout


def test_weights_that_are_not_installed_are_named(ask):
    result = ask("--local", "smollm2-135m", "Hi")
    assert result.exit_code == 1
    assert "tickmind model install smollm2-135m" in result.stderr


def test_nothing_is_said_to_start_where_there_are_no_such_weights(ask):
    result = ask("--local", "nobody", "Hi")
    assert result.exit_code == 1
    assert result.stderr.startswith("nobody is neither a GGUF file nor one of: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--local", "a", "--scripted"),
        ("--tools", "--schema", "a"),
        ("--scripted", "--model", "m"),
        ("--local", "a", "--base-url", "http://127.0.0.1:1"),
        ("--temperature", "-1"),
        ("--max-tokens", "0"),
        ("--api", "grpc"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(arguments, ask):
    assert ask(*arguments, "Hi").exit_code == 2


def test_a_cassette_is_recorded_and_then_played_without_the_model(provider, ask, tmp_path, canary, monkeypatch):
    file = tmp_path / "hello.jsonl"
    provider.enqueue("Hello there.")
    assert ask("--cassette", str(file), "Hi").stdout == "Hello there.\n"
    assert canary not in file.read_text()
    monkeypatch.delenv("LLM_BASE_URL")
    monkeypatch.delenv("LLM_API_KEY")
    monkeypatch.setenv("LLM_MODEL", "another")
    again = ask("--cassette", str(file), "Hi")
    assert again.stdout == "Hello there.\n"
    assert "Playing back" in again.stderr
    assert len(provider.seen) == 1


# What goes wrong


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Refuse(429, "slow down", retry_after=3), "slow down"),
        (Refuse(401, "who are you?"), "who are you?"),
        (EchoHeaders(), "401"),
        (Respond(ModelReply("", "stop"), headers={}), ""),
    ],
)
@pytest.mark.parametrize("before", [(), ("--log-level", "debug")])
def test_an_endpoints_error_is_told_without_the_key(step, words, before, provider, ask):
    provider.enqueue(step)
    result = ask("Hi", before=before)
    assert result.exit_code == (1 if words else 0)
    assert words in result.stderr
    assert ("Traceback" in result.stderr) == bool(before and words)


def test_an_endpoint_that_is_not_there_is_an_error(ask):
    result = ask("--base-url", "http://127.0.0.1:9", "Hi")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "127.0.0.1" in result.stderr


def test_an_address_with_a_password_is_refused_and_not_repeated(ask, canary):
    result = ask("--base-url", f"http://user:{canary}@127.0.0.1:9", "Hi")
    assert result.exit_code == 1
    assert "LLM_API_KEY" in result.stderr

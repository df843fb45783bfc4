"""The replies of a run are kept by character, tick and number: played again, filled up, and compared by prompt."""

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing

import pytest

from tickmind.base import Secret
from tickmind.llm.cassettes import replies
from tickmind.llm.cassettes.replies import CallPlace, CallSite, ReplyFile, ReplyTransport, call_site, prompt_difference
from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMRateLimitError
from tickmind.llm.messages import Message
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelRequest

ALICE, BOB = CallSite("alice", 3), CallSite("bob", 3)


def asked(text, model="m"):
    return ModelRequest(model, (Message.system("You live here."), Message.user(text)))


def ask(transport, site, text, model="m"):
    async def call():
        with call_site(site):
            return (await transport.complete(asked(text, model), timeout_s=5)).content

    return asyncio.run(call())


def streamed(transport, site, text):
    async def call():
        with call_site(site):
            async with transport.stream(asked(text), timeout_s=5) as pieces, aclosing(pieces):
                return "".join([piece.content async for piece in pieces])

    return asyncio.run(call())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.jsonl"


def test_equal_prompts_keep_replies_of_their_own(path):
    recorder = ReplyTransport(ReplyFile.create(path), ScriptedTransport(["one", "two", "three", "four"]))
    calls = [(ALICE, "Hm?"), (BOB, "Hm?"), (ALICE, "Hm?"), (CallSite("alice", 4), "Hm?")]
    said = [ask(recorder, *call) for call in calls]
    player = ReplyTransport(ReplyFile(path))
    assert said == ["one", "two", "three", "four"]
    order = [1, 0, 2, 3]  # characters may ask in another order, each by itself in its own
    assert [ask(player, *calls[at]) for at in order] == [said[at] for at in order]


def test_streams_and_errors_are_played_too(path):
    script = ScriptedTransport(["a longer reply in pieces", LLMRateLimitError("slow down", retry_after_s=2.0)])
    recorder = ReplyTransport(ReplyFile.create(path), script)
    assert streamed(recorder, ALICE, "Hm?") == "a longer reply in pieces"
    with pytest.raises(LLMRateLimitError):
        ask(recorder, BOB, "Hm?")
    player = ReplyTransport(ReplyFile(path))
    assert streamed(player, ALICE, "Hm?") == "a longer reply in pieces"
    with pytest.raises(LLMRateLimitError) as error:
        ask(player, BOB, "Hm?")
    assert error.value.retry_after_s == 2.0


def test_a_model_is_asked_only_for_what_is_missing(path):
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("old")), ALICE, "Hm?")
    model = ScriptedTransport("new")
    filler = ReplyTransport(ReplyFile(path, fills=True), model)
    assert [ask(filler, ALICE, "Hm?"), ask(filler, BOB, "Hm?")] == ["old", "new"]
    assert len(model.calls) == 1
    assert ask(ReplyTransport(ReplyFile(path)), BOB, "Hm?") == "new"


def test_a_missing_call_is_named_where_there_is_no_model(path):
    ReplyFile.create(path)
    with pytest.raises(LLMConfigError, match=r"has no call 1 of alice in tick 3; play it with `fill`"):
        ask(ReplyTransport(ReplyFile(path)), ALICE, "Hm?")


def test_another_prompt_is_named_with_its_first_difference(path):
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("Yes.")), ALICE, "Bob is near. Greet him?")
    with pytest.raises(LLMConfigError) as error:
        ask(ReplyTransport(ReplyFile(path)), ALICE, "Bob is gone. Greet him?")
    assert "the prompt of call 1 of alice in tick 3 differs" in str(error.value)
    assert "messages 2, " in str(error.value)
    assert "character 8: 'Bob is near. Greet him?' was recorded, 'Bob is gone. Greet him?' is asked" in str(error.value)


def test_another_prompt_is_asked_anew_when_filling_and_then_kept(path):
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("old")), ALICE, "Bob is near.")
    assert ask(ReplyTransport(ReplyFile(path, fills=True), ScriptedTransport("new")), ALICE, "Bob is gone.") == "new"
    assert ask(ReplyTransport(ReplyFile(path)), ALICE, "Bob is gone.") == "new"


def test_another_model_is_no_difference(path):
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("Yes.")), ALICE, "Hm?", "large")
    assert ask(ReplyTransport(ReplyFile(path)), ALICE, "Hm?", "small") == "Yes."


def test_calls_of_no_character_pass_by_the_file(path):
    model = ScriptedTransport("ready")
    transport = ReplyTransport(ReplyFile.create(path), model)
    assert ask(transport, None, "Warm up.") == "ready"
    assert len(ReplyFile(path)) == 0
    with pytest.raises(LLMConfigError, match="no model to ask"):
        ask(ReplyTransport(ReplyFile(path)), None, "Warm up.")


def test_a_transport_without_a_file_lets_calls_through():
    assert ask(ReplyTransport(None, ScriptedTransport("Hi.")), ALICE, "Hm?") == "Hi."


def test_a_file_with_calls_is_not_overwritten(path):
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("Yes.")), ALICE, "Hm?")
    with pytest.raises(LLMConfigError, match="already holds the replies of a run"):
        ReplyFile.create(path)
    assert len(ReplyFile(path)) == 1


def test_a_missing_file_and_a_strange_one_say_what_to_do(tmp_path):
    with pytest.raises(LLMConfigError, match="record one with --replies record"):
        ReplyFile(tmp_path / "none.jsonl")
    strange = tmp_path / "notes.txt"
    strange.write_text("Dear diary\n")
    with pytest.raises(LLMConfigError, match="is not a file of replies"):
        ReplyFile(strange)
    later = tmp_path / "later.jsonl"
    later.write_text('{"tickmind_replies": 9}\n')
    with pytest.raises(LLMConfigError, match="format 9"):
        ReplyFile(later)


def test_a_torn_line_costs_one_call(path):
    recorder = ReplyTransport(ReplyFile.create(path), ScriptedTransport(["one", "two"]))
    ask(recorder, ALICE, "Hm?")
    ask(recorder, BOB, "Hm?")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1][:40], *lines[2:]]))
    player = ReplyTransport(ReplyFile(path))
    assert ask(player, BOB, "Hm?") == "two"
    with pytest.raises(LLMConfigError, match="has no call 1 of alice"):
        ask(player, ALICE, "Hm?")


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_tail_costs_its_own_call_only(path, cut):
    """As a killed process leaves it."""
    ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport("one")), ALICE, "Hm?")
    path.write_bytes(path.read_bytes()[:-cut])
    again = ReplyTransport(ReplyFile(path, fills=True), ScriptedTransport(["two", "three"]))
    said = [ask(again, BOB, "Hm?"), ask(again, CallSite("bob", 4), "Hm?")]
    player = ReplyTransport(ReplyFile(path))
    assert [ask(player, BOB, "Hm?"), ask(player, CallSite("bob", 4), "Hm?")] == said == ["two", "three"]
    assert len(ReplyFile(path)) == (3 if cut == 1 else 2)  # a line without its end is whole


CALL = '{"character": "alice", "tick": 3, "number": 1, "mode": "complete", "reply": {}'


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        f'{CALL}, "request": [1]}}',
        f'{CALL}, "request": {{}}, "seq": 1e999}}',
        f'{CALL}, "request": {{}}, "took_s": {{}}}}',
        CALL.replace("3", "1e999") + "}",
        "7",
        "null",
    ],
)
def test_a_malformed_line_is_missing_and_never_overwritten(path, line):
    path.write_text(f'{{"tickmind_replies": 1}}\n{line}\n')
    assert len(ReplyFile(path)) == 0
    with pytest.raises(LLMConfigError, match="already holds the replies of a run"):
        ReplyFile.create(path)


def test_a_process_holds_the_calls_of_its_own_characters(path):
    recorder = ReplyTransport(ReplyFile.create(path), ScriptedTransport(["one", "two"]))
    ask(recorder, ALICE, "Hm?")
    ask(recorder, BOB, "Hm?")
    assert len(ReplyFile(path, characters=["bob"])) == 1
    assert ask(ReplyTransport(ReplyFile(path, characters=["bob"])), BOB, "Hm?") == "two"


def test_a_full_file_is_named(path, monkeypatch):
    transport = ReplyTransport(ReplyFile.create(path), ScriptedTransport(["one", "two"]))
    monkeypatch.setattr(replies, "MAX_REPLY_FILE_BYTES", replies.MAX_REPLY_FILE_BYTES.at(600))
    ask(transport, ALICE, "Hm?")
    with pytest.raises(LLMConfigError, match=r"can't write a reply.*size of a file of replies"):
        ask(transport, BOB, "Hm?")
    assert len(ReplyFile(path)) == 1


def test_no_secret_is_in_the_file(path):
    secret = Secret("sk-very-secret-value-0123456789", lasting=True)
    transport = ReplyTransport(ReplyFile.create(path), ScriptedTransport(f"It is {secret.reveal()}."))
    ask(transport, ALICE, f"My key is {secret.reveal()}.")
    assert secret.reveal() not in path.read_text()


WRITER = """
import asyncio, sys
from tickmind.llm.cassettes.replies import *
from tickmind.llm.messages import Message
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelRequest
transport = ReplyTransport(ReplyFile(sys.argv[1], fills=True), ScriptedTransport("x" * 20_000))
async def main():
    for tick in range(50):
        with call_site(CallSite(sys.argv[2], tick)):
            await transport.complete(ModelRequest("m", (Message.user("Hm?"),)), timeout_s=5)
asyncio.run(main())
"""


def test_processes_share_a_file(path):
    ReplyFile.create(path)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("alice", "bob", "carol")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(ReplyFile(path)) == 150


def test_a_full_disk_is_named_and_costs_one_call(path, monkeypatch):
    file = ReplyFile.create(path)
    transport = ReplyTransport(file, ScriptedTransport("Yes."))
    write = __import__("os").write
    monkeypatch.setattr("os.write", lambda descriptor, data: write(descriptor, data[:10]))
    with pytest.raises(LLMConfigError, match="the disk is full"):
        ask(transport, ALICE, "Hm?")
    monkeypatch.undo()
    assert ask(transport, BOB, "Hm?") == "Yes."
    assert ReplyFile(path).find(CallPlace(BOB, 1)) is not None
    assert len(ReplyFile(path)) == 1


def test_requests_that_ask_the_same_have_no_difference():
    form = json.loads('{"messages": [{"role": "user", "text": "Hm?"}], "model": "a"}')
    assert prompt_difference(form, {**form, "model": "b"}) == ""
    assert prompt_difference(form, {**form, "messages": []}) == "messages: 1 were recorded, and there are 0"
    assert (
        prompt_difference({"output": {"a": None}}, {"output": {}}) == "output, a: None was recorded, nothing is asked"
    )
    assert prompt_difference({"output": {}}, {"output": {"a": 1}}) == "output, a: nothing was recorded, 1 is asked"


def test_a_call_that_fails_at_the_network_is_kept_as_it_was(path):
    with pytest.raises(LLMConnectionError):
        ask(ReplyTransport(ReplyFile.create(path), ScriptedTransport([LLMConnectionError("gone")])), ALICE, "Hm?")
    with pytest.raises(LLMConnectionError, match="gone"):
        ask(ReplyTransport(ReplyFile(path)), ALICE, "Hm?")

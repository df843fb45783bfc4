"""One key through everything: it goes to the endpoint and is found nowhere else."""

import asyncio
import io
import logging
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tickmind.base import Secret, configure_logging, get_logger
from tickmind.llm import (
    CallConfig,
    CassettePlayer,
    CassetteRecorder,
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMResult,
    Message,
    ModelClient,
    ModelConfig,
    ModelReply,
    RetryingTransport,
    SyncModelClient,
    ToolCall,
    UsageMeter,
    load_model_config,
    make_transport,
)
from tickmind.llm.config import Api
from tickmind.llm.testing import (
    BadJson,
    BadUtf8,
    Break,
    EchoHeaders,
    FakeProvider,
    Hang,
    HugeBody,
    Redirect,
    Refuse,
    Respond,
    Step,
)
from tickmind.llm.transport import Capabilities
from tickmind.tools import AgentHub, Interrupt, tool

if TYPE_CHECKING:
    from tests.conftest import LoopClock

CANARY = "canary-9b1d-key-5f0e7c3a2d"
HEADER = "canary-header-77aa66bb55cc"
APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
BAD: tuple[Step, ...] = (
    EchoHeaders(),
    EchoHeaders(400),
    EchoHeaders(429),
    EchoHeaders(500),
    Refuse(400, f"x{CANARY}x " * 40),
    Refuse(403, "y" * 390 + CANARY),
    Redirect(f"http://127.0.0.1:1/{CANARY}?key={CANARY}"),
    BadJson(),
    BadUtf8(),
    HugeBody(3_000_000),
    Break("A long reply that breaks."),
    Break("A long reply that breaks.", ending="reset"),
    Break("A long reply that breaks.", ending="error"),
    Hang(),
)
GO = ModelReply("I go.", "tool_calls", tool_calls=(ToolCall("a", "go", "{}"),))
pytestmark = pytest.mark.timeout(300)


class Shown:
    """All that anybody could see."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, *things: Any) -> None:
        self.texts += [text for thing in things for text in (repr(thing), str(thing))]

    def add_error(self, error: BaseException) -> None:
        self.add(error, error.args, vars(error))
        ours = error.__traceback__
        while ours is not None and ours.tb_frame.f_code.co_filename == __file__:
            ours = ours.tb_next  # the test's own variables hold the key
        with_locals = traceback.TracebackException(type(error), error, ours, capture_locals=True)
        self.texts += ["".join(traceback.format_exception(error)), "".join(with_locals.format())]

    def check(self) -> None:
        assert self.texts
        found = [text for text in self.texts if CANARY in text or HEADER in text]
        assert not found, found[0][:2000]


async def ask(client: ModelClient, *, streamed: bool) -> LLMResult:
    if not streamed:
        return await client.complete("Hi.")
    async with client.stream("Hi.") as stream:
        return await stream.result


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    """Everything that is logged at any level, in both styles."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logging("console", level="DEBUG", stream=stream)
    console = root.handlers[-1]
    console.set_name("console")
    configure_logging("json", level="DEBUG", stream=stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


@pytest.fixture
def shown(logs: io.StringIO) -> Iterator[Shown]:
    everything = Shown()
    yield everything
    get_logger("canary").debug("ends", key=CANARY, headers={"x": HEADER})
    everything.texts.append(logs.getvalue())
    assert "ends" in logs.getvalue()
    everything.check()


def config_for(server: FakeProvider, api: Api = "chat", **more: Any) -> ModelConfig:
    options = {"timeout_s": 60, "max_reply_bytes": 1_000_000, "headers": {"X-Second": Secret(HEADER)}, **more}
    return ModelConfig(server.base_url, Secret(CANARY), "m", api=api, **options)


def test_configs_do_not_show_it(shown: Shown, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"LLM_API_KEY={CANARY}\n")
    local = "http://127.0.0.1:9/v1"
    shown.add(
        ModelConfig(api_key=CANARY),  # type: ignore[arg-type]  # people write it so
        ModelConfig(api_key=Secret(CANARY), headers={"X-Second": Secret(HEADER)}),
        load_model_config(env={"LLM_API_KEY": CANARY}, dotenv_path=tmp_path / "none"),
        load_model_config(env={"OPENAI_API_KEY": CANARY}, dotenv_path=tmp_path / "none"),
        load_model_config(env={}, dotenv_path=file),
        load_model_config(api_key=CANARY, env={}, base_url=local, dotenv_path=tmp_path / "none"),
    )
    for broken in (
        {"api_key": f"{CANARY} with blanks"},
        {"api_key": f"{CANARY}\n{CANARY}"},
        {"base_url": f"http://user:{CANARY}@127.0.0.1/v1"},
        {"base_url": f"http://127.0.0.1/v1?key={CANARY}"},
        {"api_key": CANARY, "no_such_setting": 1},
    ):
        with pytest.raises(LLMConfigError) as caught:
            load_model_config(env={}, dotenv_path=tmp_path / "none", **broken)
        shown.texts += [str(caught.value), repr(caught.value)]


async def fail_at_each(
    steps: Iterable[Step], server: FakeProvider, client: ModelClient, shown: Shown, loop_clock: "LoopClock"
) -> None:
    """Ask whole and streamed for each of these bad replies, and keep all that the errors show."""
    for step in steps:
        for streamed in (False, True):
            server.enqueue(step)
            asking = asyncio.create_task(ask(client, streamed=streamed))
            await server.wait_seen(len(server.seen) + 1)
            if isinstance(step, Hang):
                loop_clock.skip(60)
            with pytest.raises(LLMError) as caught:
                await asking
            assert isinstance(caught.value, LLMDeadlineError) == isinstance(step, Hang)
            shown.add_error(caught.value)


@pytest.mark.asyncio
@pytest.mark.parametrize("api", APIS)
async def test_calls_good_and_bad_do_not_show_it(shown: Shown, api: Api, loop_clock: "LoopClock") -> None:
    asyncio.get_running_loop().set_debug(True)
    meter = UsageMeter()
    async with FakeProvider(strict_fields=True, accept_keys=[CANARY]) as server:
        config = config_for(server, api)
        async with ModelClient(config, meter=meter) as client:
            server.enqueue("Hello.", "Hello.")
            shown.add(await client.complete("Hi."), client, client.config, client.transport, vars(client.transport))
            async with client.stream("Hi.") as stream:
                shown.add(*[chunk async for chunk in stream], await stream.result, stream, meter)
            await fail_at_each(BAD, server, client, shown, loop_clock)
        retrying = RetryingTransport(make_transport(config), base_delay_s=0.001)
        shown.add(retrying)
        async with ModelClient(config, retrying) as client:
            server.enqueue(EchoHeaders(500), EchoHeaders(500), EchoHeaders(500))
            with pytest.raises(LLMError) as caught:
                await client.complete("Hi.")
            shown.add_error(caught.value)
        assert CANARY in server.seen_keys
        assert server.seen[0].headers["x-second"] == HEADER  # it did go where it belongs
    async with ModelClient(config) as client:
        with pytest.raises(LLMConnectionError) as caught:
            await client.complete("Hi.")
        shown.add_error(caught.value)


@pytest.mark.asyncio
async def test_a_callers_own_sdk_does_not_show_it(shown: Shown, loop_clock: "LoopClock") -> None:
    openai = pytest.importorskip("openai")
    from tickmind.llm.transports.openai_sdk import OpenAITransport

    good = (HugeBody, BadUtf8)  # for the SDK
    steps = [step for step in (*BAD, Refuse(429, f"too many for {CANARY}")) if not isinstance(step, good)]
    async with (
        FakeProvider(accept_keys=[CANARY]) as server,
        openai.AsyncOpenAI(api_key=CANARY, base_url=server.base_url, default_headers={"X-Second": HEADER}) as sdk,
    ):
        transport = OpenAITransport(sdk)
        async with ModelClient(config_for(server), transport) as client:
            server.enqueue("Hello.")
            shown.add(await client.complete("Hi."), client, transport, vars(transport))
            await fail_at_each(steps, server, client, shown, loop_clock)
        assert CANARY in server.seen_keys
        assert server.seen[0].headers["x-second"] == HEADER


def test_the_blocking_face_does_not_show_it(shown: Shown) -> None:
    steps: list[Step] = ["Hello.", EchoHeaders(), EchoHeaders()]
    with FakeProvider.in_thread(steps) as server, SyncModelClient(config_for(server)) as client:
        shown.add(client, client.complete("Hi."))
        with pytest.raises(LLMError) as caught:
            client.complete("Hi.")
        shown.add_error(caught.value)
        with client.stream("Hi.") as stream, pytest.raises(LLMError) as caught:
            next(stream)
        shown.add_error(caught.value)
        shown.add(stream)


@pytest.mark.asyncio
@pytest.mark.parametrize("tools", [True, False], ids=["tools", "union"])
async def test_agents_their_events_and_their_hub_do_not_show_it(shown: Shown, tools: bool) -> None:
    @tool
    def go() -> str:
        """Go."""
        raise ValueError(f"could not log in with {CANARY}")

    steps: list[Step] = [GO, "Done.", EchoHeaders()]
    if not tools:
        steps[:2] = ['{"tool":"go","arguments":{}}', '{"reply":"Done."}']
    async with FakeProvider(steps) as server:
        config = config_for(server, capabilities=Capabilities(tools=tools))
        async with ModelClient(config) as client:
            hub = AgentHub(client, model="m")
            heard: list[Any] = []
            hub.subscribe(heard.append)
            agent = hub.create_agent([go])
            for _ in range(2):
                run = agent.ainvoke("Go!")
                events = [event async for event in run.events()]
                result = await run.result()
                shown.add(*events, *(event.to_dict() for event in events))
                shown.add(run, result, result.to_dict(), result.tool_trace, result.error, agent, agent.history)
            assert result.error is not None
            shown.add(hub, agent.statistics(), agent.config, *heard)
            await hub.aclose()
    assert any("could not log in with ***" in text for text in shown.texts)


@pytest.mark.asyncio
async def test_what_a_tool_or_a_model_lets_slip_is_kept_out_of_events_traces_and_tapes(
    shown: Shown, tmp_path: Path
) -> None:
    @tool
    def read(path: str) -> str:
        """Read a file."""
        return f"LLM_API_KEY={CANARY} in {path}"

    @tool
    def ask_first() -> None:
        """Ask a person."""
        raise Interrupt(f"May I use {CANARY}?")

    question = ModelReply("", "tool_calls", tool_calls=(ToolCall("b", "ask_first", "{}"),))
    call = ModelReply("", "tool_calls", tool_calls=(ToolCall("a", "read", f'{{"path":"/{CANARY}"}}'),))
    said = Respond(f"The key is {CANARY}.", cut=5)
    tape = tmp_path / "tape.jsonl"
    async with FakeProvider([call, said, question, said]) as server:
        config = config_for(server)
        async with ModelClient(config, CassetteRecorder(make_transport(config), tape)) as client:
            heard: list[Any] = []
            hub = AgentHub(client, model="m")
            hub.subscribe(heard.append, ["agent_finished", "agent_debug"])
            agent = hub.create_agent([read, ask_first])
            result = await agent.ainvoke(f"Read {CANARY}").result()
            asked = await agent.ainvoke("Now ask.").result()
            assert asked.state is not None
            shown.add(result.tool_trace, asked.tool_trace, *heard)
            await client.complete([Message.system(CANARY), Message.user("Hi.")], CallConfig(extra={"key": CANARY}))
            await hub.aclose()
    assert CANARY in result.text  # the caller gets what was said
    shown.texts.append(tape.read_text())
    player = CassettePlayer(tape)
    shown.add(player, player.statistics())


@pytest.mark.asyncio
async def test_recorded_errors_do_not_hold_it(shown: Shown, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    async with FakeProvider(default=EchoHeaders()) as server:
        config = config_for(server)
        async with ModelClient(config, CassetteRecorder(make_transport(config), tape)) as client:
            shown.add(client.transport)
            for streamed in (False, True):
                with pytest.raises(LLMError):
                    await ask(client, streamed=streamed)
    shown.texts.append(tape.read_text())
    assert tape.read_text().count("401") >= 2

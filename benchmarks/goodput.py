"""Callers that want more than a slow model gives, through real sockets: how much of its time becomes answers in time.

All cases run side by side in one process: they wait nearly all the time. Our client comes back when the gateway says;
the openai SDK asks again after a second, whatever it hears. The peer is the old policy (every request waits until its
deadline, the oldest goes first) with callers that ask again soon. `LONG=1` measures for ten minutes, and lets a model
become ten times slower for five of them.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random

import openai
from tests.kits.goodput_simulation import CASES, Case, Figures

from benchmarks.harness import Result, paired
from tickmind.base import Secret
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, QueueConfig, Route
from tickmind.llm import CallConfig, GatewayClient, LLMError, ModelConfig, gateway_call

LONG = bool(os.environ.get("LONG"))
SECONDS = 600.0 if LONG else 120.0
HASTY_PAUSE_S, OLD_PAUSE_S = 1.0, 0.25
GOODPUT_BAR, WASTED_BAR = 0.93, 0.03
REQUESTS_BAR, HASTY_REQUESTS_BAR = 3.0, 15.0
UNFAIR_BAR = 0.25
SLOW_FROM_S, SLOW_UNTIL_S, SPELL_S = 60.0, 360.0, 480.0
NOWHERE = "http://127.0.0.1:9/v1"  # nothing listens there
SETTLING_S = 30.0  # within which goodput follows
SPELL = Case("0.4-0.6 s, ten times slower for 5 min", (0.4, 0.6), 8.0, sessions=12)
_BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"Run!"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":42,"completion_tokens":2,"total_tokens":44}}'
)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)


class SlowModel:
    """A provider whose answers take their time; it stops at one that nobody waits for."""

    def __init__(self, case: Case, slowness: Callable[[float], float]) -> None:
        self.figures = Figures(case)
        self.began_s = time.monotonic()
        self.is_over = False  # what is cut off from now on is so by the end of the benchmark
        self._slowness = slowness
        self._chance = Random(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Serve none any more."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                if not await self._answer(reader):
                    break
                writer.write(_ANSWER)
        except (OSError, EOFError):
            pass  # the gateway closed it
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bool:
        """Work on one answer; False if nobody waits for it any more."""
        figures, patience_s = self.figures, self.figures.case.patience_s
        factor = self._slowness(time.monotonic() - self.began_s)
        service_s = factor * self._chance.uniform(*figures.case.service_s)
        figures.starts += 1
        figures.busy_s += min(service_s, patience_s)
        try:
            async with asyncio.timeout(service_s):
                await reader.read(1)
        except TimeoutError:
            return True
        if self.is_over:
            return False
        figures.wasted += service_s <= patience_s
        figures.hopeless += service_s > patience_s
        return False


@dataclass(frozen=True)
class Setting:
    """A kind of callers before a kind of gateway."""

    name: str
    learns: bool
    heeds: bool
    pause_s: float = 0.0  # of those who don't heed


OURS = Setting("ours", learns=True, heeds=True)
HASTY = Setting("hasty", learns=True, heeds=False, pause_s=HASTY_PAUSE_S)
OLD = Setting("old", learns=False, heeds=False, pause_s=OLD_PAUSE_S)


@asynccontextmanager
async def _gateway(model: SlowModel, setting: Setting) -> AsyncIterator[GatewayServer]:
    case = model.figures.case
    upstream = await asyncio.start_server(model.accept, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{upstream.sockets[0].getsockname()[1]}/v1"
    key = ApiKey("key", Secret("sk-of-the-benchmark"))
    config = GatewayConfig(
        providers={"slow": Provider("slow", url, (key,), Limits(concurrency=case.slots), default_model="m")},
        exact={"m": Route((("slow", None),))},
        default_model="m",
        port=0,
        queue=QueueConfig(learn_service_times=setting.learns),
    )
    async with GatewayServer(config) as server:
        yield server
    upstream.close()
    await model.stop()


def _session(case: Case, number: int) -> str:
    return f"session-{number % case.sessions}"


async def _heed(case: Case, number: int, client: GatewayClient, answered: Callable[[str], None]) -> None:
    """Ask for ever with our client, when the gateway says so."""
    call = gateway_call(CallConfig(timeout_s=case.patience_s), agent=f"agent-{number}", drop_after_s=case.drop_after_s)
    while True:
        try:
            result = await client.complete("What now?", call)
            answered(client.session)
            wait_s = result.served.cooldown.wait_s if result.served and result.served.cooldown else 0.0
        except LLMError as error:
            wait_s = getattr(error, "retry_after_s", None) or 0.0
        await asyncio.sleep(max(wait_s, client.ready_in_s(), 0.001))


async def _hurry(
    case: Case, number: int, sdk: openai.AsyncOpenAI, pause_s: float, answered: Callable[[str], None]
) -> None:
    """Ask for ever with the openai SDK, which sends how long it waits."""
    session = _session(case, number)
    headers = {"x-tickmind-session": session, "x-tickmind-agent": f"agent-{number}"}
    if case.drop_after_s is not None:
        headers["x-tickmind-drop-after-ms"] = str(int(1000 * case.drop_after_s))
    client = sdk.with_options(default_headers=headers)
    while True:
        try:
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "What now?"}])
            answered(session)
        except openai.OpenAIError:
            await asyncio.sleep(pause_s)


async def _measure(
    case: Case,
    setting: Setting,
    seconds: float,
    slowness: Callable[[float], float] = lambda _now_s: 1.0,
    start: asyncio.Barrier | None = None,
) -> Figures:
    """Let the callers of a case ask for a while; all that wait at `start` begin together, when all are set up."""
    model = SlowModel(case, slowness)
    figures = model.figures

    def answered(session: str) -> None:
        figures.answers_s.append(time.monotonic() - model.began_s)
        figures.by_session[session] += 1

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_gateway(model, setting))
        clients = [
            await stack.enter_async_context(
                GatewayClient(
                    ModelConfig(base_url=server.url, model="m"), session=_session(case, number), on_cooldown="raise"
                )
            )
            for number in range(case.sessions)
        ]
        sdk = await stack.enter_async_context(
            openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=case.patience_s, max_retries=0)
        )
        with suppress(openai.OpenAIError):  # its first call imports for seconds
            await sdk.with_options(base_url=NOWHERE).chat.completions.create(model="m", messages=[])
        await (start or asyncio.Barrier(1)).wait()
        model.began_s = time.monotonic()
        callers = [
            asyncio.create_task(
                _heed(case, number, clients[number % case.sessions], answered)
                if setting.heeds
                else _hurry(case, number, sdk, setting.pause_s, answered)
            )
            for number in range(case.callers)
        ]
        await asyncio.wait(callers, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        statistics = server.gateway.dispatcher.statistics()
        figures.requests, figures.seconds = statistics.submitted, seconds
        figures.circuits_opened = sum(lane.failed for lane in statistics.lanes)
        model.is_over = True
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    for caller in callers:
        if not caller.cancelled():
            caller.result()  # raises what ended it
    return figures


async def _side_by_side(settings: tuple[Setting, ...]) -> dict[tuple[str, str], Figures]:
    pairs = [(case, setting) for case in CASES for setting in settings]
    start = asyncio.Barrier(len(pairs))
    found = await asyncio.gather(*(_measure(case, setting, SECONDS, start=start) for case, setting in pairs))
    return {(case.name, setting.name): figures for (case, setting), figures in zip(pairs, found, strict=True)}


def _within(name: str, figure: float, limit: float, unit: str = "") -> Result:
    return paired(name, [max(figure, 1e-6)], [limit], unit=unit, peer_name="the limit", bar=1.0)


def cases() -> list[Result]:
    """Six kinds of load on a slow model: answers in time, wasted starts, and how often callers ask."""
    found = asyncio.run(_side_by_side((OURS, HASTY, OLD)))
    results = []
    for number, case in enumerate(CASES, 1):
        ours, hasty, old = (found[case.name, setting.name] for setting in (OURS, HASTY, OLD))
        print(f"  {number}. heeding {ours}\n     hasty   {hasty}\n     old     {old}")
        name = f"goodput/case-{number}"
        attainable = f"{case.attainable:.0%} of capacity"
        results += [
            paired(
                f"{name}", [ours.goodput], [1.0], unit="", peer_name=attainable, bar=GOODPUT_BAR, more_is_better=True
            ),
            paired(
                f"{name}-answers",
                [len(ours.answers_s)],
                [max(1, len(old.answers_s))],
                unit="",
                peer_name="oldest first",
                bar=1.0,
                more_is_better=True,
            ),
            _within(f"{name}-wasted", ours.wasted_part, WASTED_BAR),
            _within(f"{name}-requests", ours.requests_per_answer, REQUESTS_BAR),
            _within(f"{name}-requests-hasty", hasty.requests_per_answer, HASTY_REQUESTS_BAR),
        ]
    return results


def spell() -> list[Result]:
    """A model that becomes ten times slower for five minutes and recovers; twelve sessions share it."""
    seconds = SPELL_S
    figures = asyncio.run(
        _measure(SPELL, OURS, seconds, lambda now_s: 10.0 if SLOW_FROM_S <= now_s < SLOW_UNTIL_S else 1.0)
    )
    assert not figures.circuits_opened, "slow is no failure"
    parts = {
        "before": figures.answered(SETTLING_S, SLOW_FROM_S) / (SLOW_FROM_S - SETTLING_S),
        "slow": 10
        * figures.answered(SLOW_FROM_S + SETTLING_S, SLOW_UNTIL_S)
        / (SLOW_UNTIL_S - SLOW_FROM_S - SETTLING_S),
        "after": figures.answered(SLOW_UNTIL_S + SETTLING_S, seconds) / (seconds - SLOW_UNTIL_S - SETTLING_S),
    }
    results = [
        paired(
            f"goodput/spell-{name}",
            [per_s],
            [SPELL.per_second],
            unit="/s",
            peer_name="capacity",
            bar=GOODPUT_BAR,
            more_is_better=True,
        )
        for name, per_s in parts.items()
    ]
    return [*results, _within("goodput/spell-unfair", figures.unfairness, UNFAIR_BAR)]


BENCHMARKS = (cases, spell) if LONG else (cases,)

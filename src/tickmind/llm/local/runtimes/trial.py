"""`Trial`: the timed result of one tiny prompt with a known answer, run by a llama.cpp server in a guarded child."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tickmind.base import Clock, SystemClock
from tickmind.llm.errors import LLMCancelledError, LLMDeadlineError, LLMError
from tickmind.llm.local.runtimes.process import LlamaServer, ServerEndedError, ServerOptions
from tickmind.llm.local.runtimes.runtime import Runtime

TRIAL_TIMEOUT_S = 90.0
CONTEXT_TOKENS = 512
COUNTED = 20
PROMPT = ", ".join(str(number) for number in range(1, COUNTED + 1)) + ","  # any model goes on counting
ANSWER = str(COUNTED + 1)
WRITTEN_TOKENS = 12
READ_PER_THOUGHT = 200  # tokens that a character's question has beyond its cached beginning, about
WRITTEN_PER_THOUGHT = 60
_DETAIL_CHARS = 300
_WATCH_S = 0.1
_END_S = 2.0  # for the end of a child to be seen


class TrialVerdict(StrEnum):
    """The outcome of a trial."""

    WORKS = "works"
    WRONG_ANSWER = "gives a wrong answer"
    LACKS_INSTRUCTIONS = "needs instructions that this processor lacks"
    LACKS_LIBRARY = "needs a library that is missing"
    TIMEOUT = "gives no answer in time"
    FAILED = "fails"


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one runtime with some weights. The speeds are in tokens a second, and 0 unless it works."""

    verdict: TrialVerdict
    detail: str = ""
    read_per_s: float = 0.0
    written_per_s: float = 0.0

    @property
    def works(self) -> bool:
        """Whether it can be used."""
        return self.verdict is TrialVerdict.WORKS

    @property
    def thought_s(self) -> float:
        """How long a character's thought takes with it; infinite if it does not work."""
        if not self.works:
            return math.inf
        return READ_PER_THOUGHT / self.read_per_s + WRITTEN_PER_THOUGHT / self.written_per_s

    def __str__(self) -> str:
        if self.works:
            return f"{self.read_per_s:.0f} read, {self.written_per_s:.1f} written tokens/s"
        return f"{self.verdict}: {self.detail}" if self.detail else str(self.verdict)


def try_runtime(
    runtime: Runtime,
    weights: Path,
    *,
    threads: int,
    counts: bool = True,
    timeout_s: float = TRIAL_TIMEOUT_S,
    given_up: threading.Event | None = None,
    clock: Clock | None = None,
) -> Trial:
    """Start the runtime, have it count, and end it again. `counts` is False for weights that may not be able to.

    It counts twice if there is time: of both speeds the better one holds, because another program may have had the
    processor meanwhile.

    :raises LLMCancelledError: `given_up` was set meanwhile
    """
    clock, given_up = clock or SystemClock(), given_up or threading.Event()
    options = ServerOptions(alias="trial", context=CONTEXT_TOKENS, threads=threads)
    server = LlamaServer(runtime, weights, options, given_up=given_up, clock=clock)
    deadline = clock.monotonic() + timeout_s
    try:
        server.start(timeout_s)
        with _stopped_by(given_up, server):
            replies = [_ask(server, max(_WATCH_S, deadline - clock.monotonic()))]
            if deadline - clock.monotonic() > timeout_s / 2:  # else it is slow, and a second pass might end too late
                replies.append(_ask(server, deadline - clock.monotonic()))
        return _judge(replies, counts)
    except LLMCancelledError:
        raise
    except LLMDeadlineError:
        return Trial(TrialVerdict.TIMEOUT, f"it was not ready within {timeout_s:.0f} s")
    except LLMError as error:
        if given_up.is_set():
            raise LLMCancelledError("the trial of a llama.cpp server was cancelled") from error
        return _explain(server.end(_END_S) or error, clock.monotonic() >= deadline)
    finally:
        server.stop()


def _ask(server: LlamaServer, timeout_s: float) -> dict[str, Any]:
    body = {"prompt": PROMPT, "n_predict": WRITTEN_TOKENS, "temperature": 0.0, "cache_prompt": False}
    return server.post("/completion", body, timeout_s=timeout_s)


def _judge(replies: list[dict[str, Any]], counts: bool) -> Trial:
    try:
        texts = [str(reply["content"]) for reply in replies]
        read = max(_per_second(reply["timings"], "prompt") for reply in replies)
        written = max(_per_second(reply["timings"], "predicted") for reply in replies)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        return Trial(TrialVerdict.FAILED, f"its reply has no text or no timings ({error!r})")
    for text in texts:
        if not text.strip() or (counts and ANSWER not in text):
            detail = f"it went on with {text[:_DETAIL_CHARS]!r} after counting to {COUNTED}"
            return Trial(TrialVerdict.WRONG_ANSWER, detail)
    return Trial(TrialVerdict.WORKS, "", read, written)


def _per_second(timings: dict[str, Any], kind: str) -> float:
    rate = float(timings[f"{kind}_n"]) / float(timings[f"{kind}_ms"]) * 1000
    if not 0 < rate < math.inf:
        raise ValueError(f"{kind} at {rate} tokens a second")
    return rate


def _explain(error: LLMError, late: bool) -> Trial:
    detail = " ".join(str(error).split())
    detail = detail if len(detail) <= _DETAIL_CHARS else f"…{detail[-_DETAIL_CHARS:]}"  # what it said last says most
    if isinstance(error, ServerEndedError):
        if error.lacks_instructions:
            return Trial(TrialVerdict.LACKS_INSTRUCTIONS)
        return Trial(TrialVerdict.LACKS_LIBRARY if error.lacks_library else TrialVerdict.FAILED, detail)
    return Trial(TrialVerdict.TIMEOUT if late else TrialVerdict.FAILED, detail)


@contextmanager
def _stopped_by(given_up: threading.Event, server: LlamaServer) -> Iterator[None]:
    """Stop the server as soon as the event is set, which ends the request that is under way."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_WATCH_S):
            if given_up.is_set():
                server.stop()
                return

    watcher = threading.Thread(target=watch, name="tickmind-trial", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()

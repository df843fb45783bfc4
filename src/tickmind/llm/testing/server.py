"""The fake provider as a process: `python -m tickmind.llm.testing.server --port 0` prints its address and serves."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.testing.behaviours import Drip, Step
from tickmind.llm.testing.provider import DEFAULT_TEXT, FakeProvider, plain_step
from tickmind.llm.testing.seeded import SeededTransport
from tickmind.llm.transport import ModelRequest

__all__ = ["FakeProvider", "main"]
_WHOLE_EVENTS = 1 << 30  # bytes in a write: more than any event has


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; the exit status is 0 after a clean stop and 2 if it could not start."""
    parser = argparse.ArgumentParser(prog="python -m tickmind.llm.testing.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one (default)")
    parser.add_argument("--model", action="append", default=[], help="a model to list; may be repeated")
    parser.add_argument("--text", default=DEFAULT_TEXT, help="what every reply says (default: %(default)r)")
    parser.add_argument("--seed", type=int, help="make replies, objects and tool calls up from this seed instead")
    parser.add_argument("--cut", type=int, default=12, help="characters in each streamed piece (default: %(default)s)")
    parser.add_argument("--interval-s", type=float, default=0.0, help="pause between two pieces of a body")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_serve(options))
    except LLMConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _script(options: argparse.Namespace) -> Callable[[ModelRequest], Step]:
    made_up = options.seed is not None
    seeded = SeededTransport(options.seed if made_up else 0, tool_rate=0.5 if made_up else 0.0)

    def step(request: ModelRequest) -> Step:
        chosen = seeded.reply(request) if made_up else plain_step(request, seeded, options.text)
        return Drip(chosen, size_bytes=_WHOLE_EVENTS, interval_s=options.interval_s) if options.interval_s else chosen

    return step


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    models = tuple(options.model) or ("fake-1",)
    provider = FakeProvider(_script(options), cut=options.cut, models=models, host=options.host, port=options.port)
    async with provider as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())

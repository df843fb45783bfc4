"""The gateways that are measured, each as a process: `python -m benchmarks.gateway_sides SIDE --upstream PORT`.

Each serves until its standard input closes and prints `port PORT`. What a side needs is imported by that side only,
because peers live in an environment of their own.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

HOST = "127.0.0.1"
NAMES = ("mock", "second")  # of the providers, in the order of the upstream ports
PLENTY = 1e9  # a limit that is there, and not reached


def tickmind(options: argparse.Namespace) -> None:
    """Ours, with all of its logic: limits, sessions, cooldowns, tally; each provider is the next one's fallback."""
    from tickmind.base import Secret
    from tickmind.gateway import ApiKey, GatewayConfig, Limits, Provider, Route, serve

    per_minute = options.requests_per_minute
    if per_minute is None:
        plenty = Limits(requests_per_minute=PLENTY, tokens_per_minute=PLENTY * 1e3, burst=1000, concurrency=1000)
        limits = [plenty for _ in options.upstream]
    else:
        limits = [Limits(requests_per_minute=rate or None) for rate in per_minute]  # 0: not known
    providers = {}
    for name, port, limit in zip(NAMES, options.upstream, limits, strict=False):
        key = ApiKey(f"id-{name}", Secret(f"sk-{name}-1234567890"))
        providers[name] = Provider(name, f"http://{HOST}:{port}/v1", keys=(key,), limits=limit)
    chain = tuple((name, "mock") for name in providers)
    apart = tuple((name, "mock-apart") for name in providers)
    config = GatewayConfig(
        providers=providers, exact={"mock": Route(chain), "mock-apart": Route(apart)}, host=HOST, port=options.port
    )
    serve(config, on_ready=lambda url: _ready(int(url.rsplit(":", 1)[1])))


def aiohttp(options: argparse.Namespace) -> None:
    """A plain proxy of aiohttp's server and client on uvloop: no limits, no queue, no accounts."""
    import uvloop
    from aiohttp import ClientSession, TCPConnector, web

    upstream = f"http://{HOST}:{options.upstream[0]}"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-mock-1234567890"}

    async def run() -> None:
        async with ClientSession(connector=TCPConnector(limit=0), auto_decompress=False) as client:

            async def handle(request: web.Request) -> web.StreamResponse:
                body = await request.read()
                async with client.post(upstream + request.path, data=body, headers=headers) as reply:
                    kept = {"Content-Type": reply.headers["Content-Type"]}
                    if reply.content_type != "text/event-stream":
                        return web.Response(body=await reply.read(), status=reply.status, headers=kept)
                    streamed = web.StreamResponse(status=reply.status, headers=kept)
                    await streamed.prepare(request)
                    async for piece in reply.content.iter_any():
                        await streamed.write(piece)
                    await streamed.write_eof()
                    return streamed

            app = web.Application()
            app.router.add_post("/v1/chat/completions", handle)
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, HOST, options.port).start()
            _ready(options.port)
            await asyncio.Event().wait()

    uvloop.run(run())


def relay(options: argparse.Namespace) -> None:
    """Bytes passed on just as they come, on uvloop: what a hop to another process costs on this machine at least."""
    import uvloop

    class End(asyncio.Protocol):
        """One end of a connection; what comes goes out at the other end."""

        def __init__(self, other: "End | None" = None) -> None:
            self.other = other
            self.transport: asyncio.Transport | None = None
            self.waiting = b""  # what came before the other end was there

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast("asyncio.Transport", transport)
            if self.other is None:
                self.opening = asyncio.ensure_future(self.open())
            else:
                self.other.other = self
                self.transport.write(self.other.waiting)

        async def open(self) -> None:
            await asyncio.get_running_loop().create_connection(lambda: End(self), HOST, options.upstream[0])

        def data_received(self, data: bytes) -> None:
            if self.other is not None and self.other.transport is not None:
                self.other.transport.write(data)
            else:
                self.waiting += data

        def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
            if self.other is not None and self.other.transport is not None:
                self.other.transport.close()

    async def run() -> None:
        await asyncio.get_running_loop().create_server(End, HOST, options.port)
        _ready(options.port)
        await asyncio.Event().wait()

    uvloop.run(run())


def tensorzero(options: argparse.Namespace) -> None:
    """TensorZero's gateway, the one that its package starts for clients of other packages; observability is off."""
    from tensorzero import _start_http_gateway

    text = f"""
        [gateway]
        observability.enabled = false
        [models.mock]
        routing = ["mock"]
        [models.mock.providers.mock]
        type = "openai"
        model_name = "mock"
        api_base = "http://{HOST}:{options.upstream[0]}/v1/"
        api_key_location = "none"
    """
    gateway = _start_http_gateway(
        config_file=_file(options.folder, "tensorzero.toml", text),
        clickhouse_url=None,
        postgres_url=None,
        valkey_url=None,
        async_setup=False,
    )
    _ready(int(gateway.base_url.split(":")[2].split("/")[0]))
    threading.Event().wait()


def litellm(options: argparse.Namespace) -> None:
    """LiteLLM's proxy, one worker; with two providers the second is the first one's fallback, and it retries."""
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="CRITICAL", DISABLE_ADMIN_UI="True")
    os.environ["LITELLM_MASTER_KEY"] = os.environ["BENCH_KEY"]
    from litellm.proxy.proxy_cli import run_server

    models = []
    for name, port in zip(NAMES, options.upstream, strict=False):
        model = {"model": "openai/mock", "api_base": f"http://{HOST}:{port}/v1", "api_key": "sk-1234567890"}
        models.append({"model_name": name, "litellm_params": model})
    router = {"num_retries": 3, "fallbacks": [{"mock": ["second"]}, {"second": ["mock"]}]} if len(models) > 1 else {}
    config = {"model_list": models, "router_settings": router, "litellm_settings": {"telemetry": False}}
    path = _file(options.folder, "litellm.yaml", json.dumps(config))  # JSON is YAML
    _ready(options.port)  # it listens some seconds later
    run_server.main(
        ["--config", path, "--host", HOST, "--port", str(options.port), "--num_workers", "1", "--telemetry", "False"]
    )


SIDES: dict[str, Callable[[argparse.Namespace], None]] = {
    "tickmind": tickmind,
    "aiohttp": aiohttp,
    "relay": relay,
    "tensorzero": tensorzero,
    "litellm": litellm,
}


def _ready(port: int) -> None:
    print(f"\nport {port}", flush=True)
    os.dup2(2, 1)  # nobody reads what a side says from here on, and a full pipe would stop it


def _file(folder: str, name: str, text: str) -> str:
    path = Path(folder) / name
    path.write_text(text)
    return str(path)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Be one side until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--upstream", type=int, action="append", required=True, help="a provider's port")
    parser.add_argument("--requests-per-minute", type=float, action="append", help="of each provider, 0: not known")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--folder", default=".", help="for the side's own configuration")
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    SIDES[options.side](options)


if __name__ == "__main__":
    main()

"""`tickmind doctor`: what this machine allows and has, and what to do about what it has not."""

import os
import sys

import typer

_PARTS = {
    "world": ("grpc", "numba", "numpy"),
    "gateway": ("httptools", "uvloop"),
    "local": ("xllamacpp",),
    "openai": ("openai",),
    "redis": ("redis",),
}  # extra -> what it brings
_BY_NAMESPACES = "namespaces: nothing that an agent forks outlives it, not even if all of this is killed"
_KEPT_BY = {
    "pid-namespace": f"PID {_BY_NAMESPACES}",
    "user-namespace": f"user and PID {_BY_NAMESPACES}",
    "subreaper": (
        "a subreaper, because namespaces are not allowed here: what agents fork is ended one by one, and as root a "
        "fork bomb is not held; allow user namespaces (sysctl user.max_user_namespaces) to have better"
    ),
}


def doctor() -> None:
    """Say what is installed, how agents are kept, and what is missing."""
    typer.echo(f"python: {sys.version.split()[0]} on {os.uname().sysname} {os.uname().release}, {os.cpu_count()} cores")
    for extra, modules in _PARTS.items():
        missing = [name for name in modules if not _is_installed(name)]
        typer.echo(f"{extra}: {'installed' if not missing else f'install tickmind[{extra}] to have it'}")
    typer.echo(f"agents: {_isolation()}")


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def _isolation() -> str:
    if not sys.platform.startswith("linux"):
        return "a runner needs Linux"
    if not _is_installed("grpc"):
        return "a runner needs tickmind[world]"
    import asyncio

    from tickmind.runner import Warden

    async def ask() -> str:
        async with Warden() as warden:
            return await warden.isolation()

    return f"kept by {_KEPT_BY[asyncio.run(ask())]}"

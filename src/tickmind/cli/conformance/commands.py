"""`tickmind conformance`: try an agent, claim by claim."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tickmind.base import ConfigError
from tickmind.cli.screen import harmless

if TYPE_CHECKING:
    from tickmind.agent import Settings
    from tickmind.cli.conformance.claims import Judgement
    from tickmind.cli.conformance.evidence import Evidence, TrialPlan

EXIT_NOT_CONFORMING = 1
_MARKS = {"pass": "pass     ", "FAIL": "FAIL     ", "not tried": "not tried"}


def conformance(
    command: Annotated[
        list[str], typer.Argument(metavar="-- CMD...", help="The agent's command, as in a mapping's `cmd`.")
    ],
    settings: Annotated[
        str, typer.Option(metavar="JSON", help="Settings for its launch file, as a JSON object.")
    ] = "{}",
    tick_ms: Annotated[int, typer.Option(min=20, max=10_000, help="How long a tick takes.")] = 200,
    ticks: Annotated[int, typer.Option(min=5, max=10_000, help="How many ticks it is watched undisturbed.")] = 30,
    start_s: Annotated[float, typer.Option(min=0.1, max=600, help="How long its start may take, in seconds.")] = 60.0,
    grace_s: Annotated[float, typer.Option(min=0.1, max=600, help="How long its end may take, in seconds.")] = 5.0,
    tls: Annotated[
        bool, typer.Option("--tls", help="Put the world behind TLS and a token that is exchanged meanwhile.")
    ] = False,
    show_output: Annotated[
        bool, typer.Option("--output", help="Print what the agent printed, secrets masked.")
    ] = False,
) -> None:
    """Try whether an agent in any language keeps the launch contract; exit with 1 if it does not.

    It gets a small world of its own, which refuses its intents, stands still, drops its connection and restarts.
    """
    from tickmind.cli.runner.commands import needs_world

    needs_world()
    import asyncio

    from tickmind.cli.conformance.claims import ClaimVerdict, judge
    from tickmind.cli.conformance.evidence import TrialPlan

    plan = TrialPlan(tick_ms=tick_ms, ticks=ticks, start_s=start_s, grace_s=grace_s, tls=tls)
    evidence, output = asyncio.run(_try(command, plan, _settings(settings)))
    judgements = judge(evidence)
    if show_output:
        typer.echo(harmless(output), err=True)
    typer.echo(report(judgements), nl=False)
    if any(judgement.verdict is not ClaimVerdict.PASS for judgement in judgements):
        raise typer.Exit(EXIT_NOT_CONFORMING)


def report(judgements: "list[Judgement]") -> str:
    """Return one line for each claim, with what to do under those that failed, and a last line that counts them.

    What the agent printed last is in them, without control sequences for the terminal.
    """
    from tickmind.agent.contract import CONTRACT_VERSION

    lines: list[str] = []
    for judgement in judgements:
        lines.append(f"{_MARKS[judgement.verdict]}  {judgement.claim}: {harmless(judgement.seen)}")
        if judgement.advice:
            lines.append(f"           do: {judgement.advice}")
    passed = sum(judgement.verdict == "pass" for judgement in judgements)
    text = "the agent conforms to" if passed == len(judgements) else "the agent does not conform to"
    lines.append(f"{passed} of {len(judgements)} claims hold: {text} contract {CONTRACT_VERSION}")
    return "\n".join(lines) + "\n"


def _settings(text: str) -> "Settings":
    import json

    from tickmind.agent import Settings

    try:
        value: Any = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError(f"--settings must be a JSON object such as '{{\"greed\": 0.8}}', not {text!r}")
    return Settings(value)


async def _try(command: list[str], plan: "TrialPlan", settings: "Settings") -> "tuple[Evidence, str]":
    import os
    import sys
    import tempfile

    from tickmind.base import redact
    from tickmind.cli.conformance.endpoint import has_sockets, open_socket
    from tickmind.cli.conformance.trial import AgentTrial
    from tickmind.runner import Warden

    def say(text: str) -> None:
        sys.stderr.write(f"{text} ...\n")

    with tempfile.TemporaryDirectory(prefix="tickmind-conformance-") as folder:
        async with Warden() as warden:
            trial = AgentTrial(
                command,
                Path(folder),
                warden,
                os.environ,
                plan=plan,
                settings=settings,
                open_socket=open_socket if has_sockets() else None,
                say=say,
            )
            return await trial.run(), redact(trial.output)

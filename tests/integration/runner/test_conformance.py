"""`tickmind conformance`: our kit, Node and Go agents pass, and each broken agent fails for its own reason."""

import asyncio
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tickmind.cli.conformance.claims import ClaimVerdict, judge
from tickmind.cli.conformance.commands import report
from tickmind.cli.conformance.endpoint import open_socket
from tickmind.cli.conformance.evidence import TrialPlan
from tickmind.cli.conformance.trial import AgentTrial
from tickmind.runner import Warden

ROOT = Path(__file__).parents[3]
NODE_AGENT = ROOT / "examples" / "node" / "agent.mjs"
PLAIN_AGENT = ROOT / "examples" / "plain" / "agent.py"
GO_AGENT = ROOT / "examples" / "go"
CLIENT = ROOT / "clients" / "typescript" / "dist" / "node.js"
PLAN = TrialPlan(
    tick_ms=500,
    ticks=12,
    lease_ttl_ms=4_000,
    start_s=100,
    back_s=60,
    away_s=0.2,
    grace_s=20,
    least_answered=0.4,  # of a busy machine this says nothing about the agent
    most_late=0.6,
)
BRIEF = replace(PLAN, grace_s=1)
SOON = replace(PLAN, start_s=1)
NEVER_BACK = replace(BRIEF, back_s=1)

pytestmark = [
    pytest.mark.realtime,  # agents answer by the clock, in ticks of half a second
    pytest.mark.slow(weight=2),
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
]

# What the broken agents have in common: one connection, and what is wrong with each in `spoil`.
BROKEN = """
import os, signal, sys, time
from tickmind.protocol import Wait
from tickmind.wire import SyncWorldClient, WireError

def live():
    with SyncWorldClient(os.environ["WORLD_ADDR"]) as client:
        with client.control(os.environ["ENTITY_ID"], os.environ["CONTROLLER_ID"]) as control:
            begin(control)
            for observation in control:
                answer(control, observation)

def begin(control): pass

{spoil}

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    try:
        live()
    except WireError:
        time.sleep(0.1)
"""
SPOILT = {
    "never connects": "live = lambda: time.sleep(600)\ndef answer(control, observation): pass",
    "acts for wrong ticks": "def answer(control, seen): control.submit(seen.tick_id - 1, Wait())",
    "acts twice a tick": "def answer(control, seen):\n    for _ in range(2): control.submit(seen.tick_id, Wait())",
    "stalls": (
        "ticks = []\ndef answer(control, seen):\n    control.submit(seen.tick_id, Wait())\n"
        "    ticks.append(seen.tick_id)\n"
        "    if len(ticks) == 6: os.kill(os.getpid(), signal.SIGSTOP)"
    ),
    "prints its lease": (
        "def begin(control): print('my lease is', control.lease.lease_id.reveal(), flush=True)\n"
        "def answer(control, seen): control.submit(seen.tick_id, Wait())"
    ),
    "ignores SIGTERM": (
        "def answer(control, seen):\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    control.submit(seen.tick_id, Wait())"
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judged(tmp_path_factory):
    """Agent -> claim -> judgement: all trials at the same time, because they mostly wait."""
    folder = tmp_path_factory.mktemp("conformance")
    plans = (
        {"kit": PLAN, "plain": PLAN, "behind TLS": replace(PLAN, tls=True), "plain behind TLS": replace(PLAN, tls=True)}
        | dict.fromkeys(SPOILT, BRIEF)
        | {"never connects": SOON, "stalls": NEVER_BACK, "is not there": BRIEF}
    )
    commands: dict[str, tuple[str, ...]] = {"kit": ("python", "-m", "tickmind.characters.random_walker")}
    commands["behind TLS"] = commands["kit"]
    for name, spoil in SPOILT.items():
        program = folder / f"{name.replace(' ', '_')}.py"
        program.write_text(BROKEN.format(spoil=spoil))
        commands[name] = ("python", str(program))
    commands["plain"] = commands["plain behind TLS"] = ("python", str(PLAIN_AGENT))
    commands["is not there"] = ("nosuchprogram", "--quick")
    sockets = dict.fromkeys(commands) | {"plain": open_socket, "plain behind TLS": open_socket}
    if (node := shutil.which("node")) and CLIENT.exists():
        commands["node"], plans["node"], sockets["node"] = (node, str(NODE_AGENT)), PLAN, open_socket
    if go := shutil.which("go"):
        program = folder / "go_agent"
        env = {"HOME": str(folder)} | os.environ  # Go keeps what it has compiled there
        building = [go, "build", "-o", str(program), "."]
        await asyncio.to_thread(subprocess.run, building, cwd=GO_AGENT, env=env, check=True, timeout=300)
        commands["go"], plans["go"], sockets["go"] = (str(program),), PLAN, open_socket
    async with Warden() as warden:

        async def attempt(name):
            place = folder / f"{name} state"
            trial = AgentTrial(commands[name], place, warden, os.environ, plan=plans[name], open_socket=sockets[name])
            return {one.claim: one for one in judge(await trial.run())}, trial.output

        found = await asyncio.gather(*map(attempt, commands))
    return dict(zip(commands, found, strict=True))


def failures(judgements):
    return {claim for claim, one in judgements.items() if one.verdict is ClaimVerdict.FAIL}


async def test_an_agent_of_our_kit_conforms(judged):
    judgements, output = judged["kit"]
    text = report(list(judgements.values()))
    assert {one.verdict for one in judgements.values()} == {ClaimVerdict.PASS}, text + output
    assert "13 of 13 claims hold: the agent conforms to contract 1" in text


@pytest.mark.parametrize("name", ["behind TLS", "plain behind TLS"])
async def test_agents_of_our_kit_and_of_any_language_conform_behind_tls_and_take_another_token(judged, name):
    judgements, output = judged[name]
    text = report(list(judgements.values()))
    assert {one.verdict for one in judgements.values()} == {ClaimVerdict.PASS}, text + output
    assert "14 of 14 claims hold" in text
    assert "comes back after its token was exchanged" in judgements


@pytest.mark.parametrize(
    ("name", "needed"),
    [("node", "Node, and `make client` to have built the client"), ("go", "Go (golang-go)"), ("plain", "Python")],
)
async def test_the_agents_of_the_guide_conform(judged, name, needed):
    if name not in judged:
        pytest.skip(f"needs {needed}")
    judgements, output = judged[name]
    assert {one.verdict for one in judgements.values()} == {ClaimVerdict.PASS}, (
        report(list(judgements.values())) + output
    )


async def test_a_program_that_is_not_there_is_named(judged):
    judgements, _ = judged["is not there"]
    seen = judgements["takes control"].seen
    assert seen == "nosuchprogram can't be started: No such file or directory, before it was in control"


async def test_an_agent_that_never_connects_fails_to_take_control_and_only_its_end_is_tried(judged):
    judgements, _ = judged["never connects"]
    assert failures(judgements) == {"takes control"}
    assert judgements["takes control"].seen == "it was not in control 1 s after its start"
    assert judgements["answers most ticks"].verdict is ClaimVerdict.UNTRIED


async def test_an_agent_that_acts_for_wrong_ticks_is_shown_one_of_them(judged):
    judgements, _ = judged["acts for wrong ticks"]
    assert {"acts for the open tick", "answers most ticks"} <= failures(judgements)
    assert "was open: late_tick" in judgements["acts for the open tick"].seen.lower()
    assert "tick_id of the newest observation" in judgements["acts for the open tick"].advice


async def test_an_agent_that_acts_twice_a_tick_fails_by_that_alone(judged):
    judgements, _ = judged["acts twice a tick"]
    assert "acts once in a tick" in failures(judgements)
    assert "that had one already" in judgements["acts once in a tick"].seen
    assert judgements["answers most ticks"].verdict is ClaimVerdict.PASS


async def test_an_agent_that_stalls_loses_its_lease_and_does_not_come_back(judged):
    judgements, _ = judged["stalls"]
    assert "answers most ticks" in failures(judgements)
    assert judgements["keeps its lease"].verdict is not ClaimVerdict.PASS
    assert "was killed" in judgements["ends on SIGTERM"].seen


async def test_an_agent_that_prints_its_lease_is_found_out_and_the_report_does_not_print_it(judged):
    judgements, output = judged["prints its lease"]
    assert "prints no secret" in failures(judgements)
    assert judgements["prints no secret"].seen == "its output holds a lease id"
    (lease_id, *_) = [line.split()[-1] for line in output.splitlines() if line.startswith("my lease is")]
    assert lease_id not in report(list(judgements.values()))


async def test_an_agent_that_ignores_sigterm_is_killed_after_its_grace_time(judged):
    judgements, _ = judged["ignores SIGTERM"]
    assert "ends on SIGTERM" in failures(judgements)
    assert judgements["ends on SIGTERM"].seen == "it was still there 1 s after SIGTERM, and was killed"
    assert judgements["comes back after the world's restart"].verdict is ClaimVerdict.PASS


@pytest.mark.asyncio
async def test_a_command_that_does_not_exist_is_reported_as_such(tmp_path):
    async with Warden() as warden:
        trial = AgentTrial(("/no/such/program",), tmp_path, warden, {}, plan=BRIEF)
        judgements = {one.claim: one for one in judge(await trial.run())}
    assert "No such file" in judgements["takes control"].seen

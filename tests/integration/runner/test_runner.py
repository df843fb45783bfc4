"""A runner with a real world and small programs as agents: who is started, watched, restarted, replaced and stopped."""

import json
import os
import signal
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.agent import Settings
from tickmind.runner import (
    AgentSpec,
    LifeState,
    LocalLauncher,
    Match,
    ResourceLimits,
    RestartPolicy,
    Rule,
    RunnerMapping,
    SecretSource,
    Warden,
)
from tickmind.server import TickPace
from tickmind.wire import WorldClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
BEAT = """echo '{"tick":1,"state":"running","entities":1,"acted":1}' >&3"""
LIVES = f"while :; do {BEAT}; sleep 0.2; done"
EAGER = RestartPolicy(1000, (0,))


def sh(name, script, **given):
    return AgentSpec(name, ("sh", "-c", script), Path("/"), **{"restart": EAGER, **given})


def mapping(server, *specs, rules=None):
    return RunnerMapping(
        {spec.name: spec for spec in specs}, rules or (Rule(Match(), specs[0].name),), world_addr=server.address
    )


@pytest.fixture
def env(mark):
    return {"PATH": os.environ["PATH"], "TICKMIND_TEST_MARK": mark, "LC_TEST": mark, "LLM_API_KEY": "sk-do-not-pass-on"}


def states(runner):
    return [row.state for row in runner.rows()]


def everybody(runner, state, count):
    return lambda: states(runner) == [state] * count


@pytest.mark.asyncio
async def test_everybody_gets_an_agent_and_in_the_end_none_is_left(tools, env, mark, tmp_path):
    async with (
        tools.serving(3) as server,
        tools.running(mapping(server, sh("beater", LIVES)), tmp_path, environment=env) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 3))
        assert runner.statistics().processes == 3
        assert len(tools.marked(mark)) >= 3
    assert tools.marked(mark) == []
    assert states(runner) == [LifeState.STOPPED] * 3


@pytest.mark.asyncio
async def test_an_agent_is_told_its_part_and_its_secrets_by_descriptor_only(tools, env, mark, tmp_path):
    out = tmp_path / "told"
    script = f"env > {out}.env; cat $AGENT_CONFIG_PATH > {out}.json; cat <&4 > {out}.secrets; {LIVES}"
    spec = sh(
        "curious",
        script,
        env=(("GREETING", "hello"),),
        settings=Settings({"greed": 0.5}),
        secrets=(("LLM_API_KEY", SecretSource("LLM_API_KEY")),),
    )
    async with (
        tools.serving(1) as server,
        tools.running(
            replace(mapping(server, spec), gateway_url="http://127.0.0.1:9"), tmp_path, environment=env
        ) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 1))
        (row,) = runner.rows()
        folder = runner.unit_of(row.entity_id).log_path.parent
    check_what_was_told(out, row.entity_id, server.address, folder)


def check_what_was_told(out, entity_id, address, folder):
    told = dict(line.split("=", 1) for line in Path(f"{out}.env").read_text().splitlines())
    assert told["WORLD_ADDR"] == address
    assert told["ENTITY_ID"] == entity_id
    assert told["CONTROLLER_ID"] == f"runner:{entity_id}:curious"
    assert told["PYTHONUNBUFFERED"] == "1"
    assert told["GREETING"] == "hello"
    assert "LLM_API_KEY" not in told
    assert "sk-do-not-pass-on" not in Path(f"{out}.env").read_text()
    launch = json.loads(Path(f"{out}.json").read_text())
    assert launch["entities"] == [{"entity_id": entity_id, "controller_id": told["CONTROLLER_ID"]}]
    assert (launch["settings"], launch["gateway_url"]) == ({"greed": 0.5}, "http://127.0.0.1:9")
    assert stat.S_IMODE(Path(launch["state_dir"]).stat().st_mode) == 0o700
    assert json.loads(Path(f"{out}.secrets").read_text()) == {"LLM_API_KEY": "sk-do-not-pass-on"}
    for file in folder.rglob("*"):
        assert not file.is_file() or b"sk-do-not-pass-on" not in file.read_bytes()


@pytest.mark.asyncio
async def test_one_process_hosts_many(tools, env, tmp_path):
    async with (
        tools.serving(7) as server,
        tools.running(mapping(server, sh("host", LIVES, per_process=3)), tmp_path, environment=env) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 7))
        assert runner.statistics().processes == 3
        first = runner.unit_of(runner.rows()[0].entity_id)
        launch = json.loads((first.log_path.parent / "launch.json").read_text())
        assert len(launch["entities"]) == 3


@pytest.mark.asyncio
async def test_characters_share_processes_though_the_stream_brings_the_first_one_alone(
    tools, env, tmp_path, monkeypatch
):
    monkeypatch.setattr("tickmind.runner.runner._GATHER_S", 0.0)
    async with (
        tools.serving(6) as server,
        tools.running(mapping(server, sh("host", LIVES, per_process=3)), tmp_path, environment=env) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 6))
        assert runner.statistics().processes == 2


@pytest.mark.asyncio
async def test_who_is_killed_is_started_again_and_the_others_are_not(tools, env, tmp_path):
    async with (
        tools.serving(3) as server,
        tools.running(mapping(server, sh("beater", LIVES)), tmp_path, environment=env) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 3))
        pids = [runner.unit_of(row.entity_id).pid for row in runner.rows()]
        os.kill(pids[1], signal.SIGKILL)
        await tools.until(lambda: [row.restarts for row in runner.rows()] == [0, 1, 0])
        await tools.until(everybody(runner, LifeState.RUNNING, 3))
        now = [runner.unit_of(row.entity_id).pid for row in runner.rows()]
        assert [pid == was for pid, was in zip(now, pids, strict=True)] == [True, False, True]


@pytest.mark.asyncio
async def test_silence_is_noticed_though_the_process_is_there(tools, env, tmp_path):
    spec = sh("mute", f"{BEAT}; exec sleep 600", heartbeat_timeout_ms=500)
    async with (
        tools.serving(1) as server,
        tools.running(mapping(server, spec), tmp_path, environment=env) as runner,
    ):
        await tools.until(lambda: [row.restarts for row in runner.rows()] >= [2])
        assert "it sent no heartbeat and no intent for" in runner.rows()[0].trouble


@pytest.mark.asyncio
async def test_words_in_the_heartbeat_that_are_none_are_no_sign_of_life(tools, env, tmp_path):
    spec = sh("liar", "while :; do echo yes >&3; sleep 0.1; done", start_timeout_ms=500)
    async with (
        tools.serving(1) as server,
        tools.running(mapping(server, spec), tmp_path, environment=env) as runner,
    ):
        await tools.until(lambda: [row.restarts for row in runner.rows()] >= [1])
        assert "no sign of life" in runner.rows()[0].trouble


@pytest.mark.asyncio
async def test_missed_intents_are_noticed_though_the_heart_beats(tools, env, tmp_path):
    async with (
        tools.serving(1) as server,
        tools.running(mapping(server, sh("idle", LIVES, missed_intents=5)), tmp_path, environment=env) as runner,
        WorldClient(server.address) as client,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 1))
        await client.acquire(runner.rows()[0].entity_id, "who holds it and does nothing")
        await tools.until(lambda: runner.rows()[0].trouble != "")
        assert "intents in a row" in runner.rows()[0].trouble


@pytest.mark.asyncio
async def test_a_crash_loop_ends_in_the_fallback_after_exactly_the_configured_restarts(tools, env, tmp_path):
    starts = tmp_path / "starts"
    crashing = sh("crashing", f"echo x >> {starts}; exit 1", fallback="calm", per_process=2)
    crashing = replace(crashing, restart=RestartPolicy(4, (10,)))
    async with (
        tools.serving(2) as server,
        tools.running(mapping(server, crashing, sh("calm", LIVES)), tmp_path, environment=env) as runner,
    ):
        await tools.until(lambda: {row.agent for row in runner.rows()} == {"calm"})
        await tools.until(everybody(runner, LifeState.RUNNING, 2))
        assert {row.instead_of for row in runner.rows()} == {"crashing"}
        assert starts.read_text().count("x") == 5
        assert runner.statistics().restarts == 4


@pytest.mark.asyncio
async def test_why_an_agent_ended_is_told_in_its_own_last_words(tools, env, tmp_path):
    spec = sh("broken", "echo begins; echo 'the world has no entity bob; set ENTITY_ID' >&2; exit 1")
    spec = replace(spec, restart=RestartPolicy(0, (0,)))
    async with (
        tools.serving(1) as server,
        tools.running(mapping(server, spec), tmp_path, environment=env) as runner,
    ):
        await tools.until(everybody(runner, LifeState.FAILED, 1))
        assert runner.rows()[0].trouble == "it exited with 1: the world has no entity bob; set ENTITY_ID"


@pytest.mark.asyncio
async def test_without_a_fallback_the_others_go_on(tools, env, tmp_path):
    async with tools.serving(2) as server:
        async with WorldClient(server.address) as client:
            first, _ = await client.entities()
        rules = (Rule(Match(ids=frozenset({first.entity_id})), "broken"), Rule(Match(), "beater"))
        broken = replace(sh("broken", "", restart=RestartPolicy(1, (0,))), cmd=("no-such-program",))
        async with tools.running(
            mapping(server, broken, sh("beater", LIVES), rules=rules), tmp_path, environment=env
        ) as runner:
            await tools.until(lambda: states(runner) == [LifeState.FAILED, LifeState.RUNNING])
            assert "No such file" in runner.rows()[0].trouble


@pytest.mark.asyncio
async def test_a_new_mapping_leaves_alone_whom_it_does_not_concern(tools, env, tmp_path):
    async with tools.serving(3) as server:
        async with WorldClient(server.address) as client:
            first = (await client.entities())[0].entity_id
        rules = (Rule(Match(ids=frozenset({first})), "one"), Rule(Match(), "other"))
        one, other = sh("one", LIVES), sh("other", LIVES)
        old = mapping(server, one, other, rules=rules)
        async with tools.running(old, tmp_path, environment=env) as runner:
            await tools.until(everybody(runner, LifeState.RUNNING, 3))
            pids = [runner.unit_of(row.entity_id).pid for row in runner.rows()]
            changed = replace(one, settings=Settings({"new": True}))
            moves = runner.reload(replace(old, agents={"one": changed, "other": other}))
            assert [len(moves.stop), len(moves.start)] == [1, 1]
            await tools.until(lambda: runner.unit_of(first).pid not in (0, pids[0]))
            await tools.until(everybody(runner, LifeState.RUNNING, 3))
            now = [runner.unit_of(row.entity_id).pid for row in runner.rows()]
            assert now[1:] == pids[1:]
            assert runner.statistics().restarts == 0


@pytest.mark.asyncio
async def test_whoever_is_controlled_by_a_stranger_is_waited_for(tools, env, tmp_path):
    async with tools.serving(1) as server, WorldClient(server.address) as client:
        (entity,) = await client.entities()
        lease = await client.acquire(entity.entity_id, "a person")
        async with tools.running(mapping(server, sh("beater", LIVES)), tmp_path, environment=env, poll_s=0.1) as runner:
            await tools.until(lambda: runner.sight.tick_id > 3 and bool(runner.rows()))
            assert states(runner) == [LifeState.ASSIGNED]
            await client.release(lease)
            await tools.until(everybody(runner, LifeState.RUNNING, 1))


@pytest.mark.asyncio
async def test_when_the_warden_is_killed_everybody_comes_back(tools, env, tmp_path):
    async with (
        Warden() as warden,
        tools.serving(2) as server,
        tools.running(
            mapping(server, sh("beater", LIVES)), tmp_path, environment=env, launcher=LocalLauncher(warden, env)
        ) as runner,
    ):
        await tools.until(everybody(runner, LifeState.RUNNING, 2))
        os.kill(warden.pid, signal.SIGKILL)
        await tools.until(lambda: [row.restarts for row in runner.rows()] == [1, 1])
        await tools.until(everybody(runner, LifeState.RUNNING, 2))


@pytest.mark.asyncio
async def test_a_world_may_come_late_go_and_come_back(tools, env, tmp_path):
    async with tools.serving(2) as server:
        address = server.address
    dies_with_it = sh("beater", LIVES, restart=RestartPolicy(0, (0,)))
    async with tools.running(mapping(server, dies_with_it), tmp_path, environment=env, poll_s=0.2) as runner:
        assert runner.rows() == []
        async with tools.serving(2, address=address):
            await tools.until(everybody(runner, LifeState.RUNNING, 2))
            await tools.until(lambda: runner.sight.ticked_s is not None)
            seen = runner.sight.ticked_s
        async with tools.serving(1, address=address):
            await tools.until(lambda: runner.sight.ticked_s > seen and len(runner.rows()) == 1)
            assert states(runner) == [LifeState.RUNNING]


# Agents that behave badly, beside a world that must not notice

BAD = {
    "floods its log": "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done",
    "floods its heartbeat": f"while :; do {BEAT}; done",
    "spins": "while :; do :; done",
    "forks": "i=0; while [ $i -lt 60 ]; do sleep 600 & i=$((i+1)); done; wait",
    "eats memory": "x=xxxxxxxx; while :; do x=$x$x; done",
}


@pytest.mark.realtime
@pytest.mark.asyncio
async def test_the_world_misses_no_tick_beside_agents_that_behave_badly(tools, env, tmp_path):
    limits = ResourceLimits(memory_mb=100, processes=20)
    async with tools.serving(len(BAD), pace=TickPace(1.0, 0.3)) as server:
        async with WorldClient(server.address) as client:
            ids = [entity.entity_id for entity in await client.entities()]
        specs = [
            sh(f"bad{place}", f"{BEAT}; {script}", limits=limits, heartbeat_timeout_ms=60_000)
            for place, script in enumerate(BAD.values())
        ]
        specs = [replace(spec, restart=RestartPolicy(2, (50,))) for spec in specs]
        rules = tuple(Rule(Match(ids=frozenset({each})), f"bad{place}") for place, each in enumerate(ids))
        async with tools.running(mapping(server, *specs, rules=rules), tmp_path, environment=env) as runner:
            before = server.statistics()
            await tools.until(lambda: states(runner).count(LifeState.FAILED) == 2)
            await tools.until(lambda: server.statistics().ticks >= before.ticks + 6)
            rows = {row.entity_id: row for row in runner.rows()}
            logs = runner.unit_of(ids[0]).log_path.parent.glob("agent.log*")
            late = server.statistics().overruns - before.overruns
    by_how = {how: rows[each] for how, each in zip(BAD, ids, strict=True)}
    assert late == 0
    assert by_how["spins"].state is by_how["floods its log"].state is LifeState.RUNNING
    assert "more than its limit of 20" in by_how["forks"].trouble
    assert by_how["eats memory"].state is LifeState.FAILED
    assert sum(file.stat().st_size for file in logs) < 3_100_000

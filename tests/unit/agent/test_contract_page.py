"""The page of the launch contract states what the code does."""

import json
import re
from pathlib import Path

import pytest

from tickmind.agent import Assignment, Heartbeat, Launch, contract
from tickmind.agent.process.heartbeat import MAX_LINE_BYTES
from tickmind.agent.process.lease_file import FILE_NAME, LeaseFile
from tickmind.base import Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.cli.conformance.claims import CLAIMS
from tickmind.cli.conformance.evidence import TrialPlan
from tickmind.protocol import AgentState
from tickmind.runner.launch.launching import HEARTBEAT_FD
from tickmind.runner.spec import AgentSpec
from tickmind.server.limits import LEASE_TTL_MS

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "agent-contract.md").read_text(encoding="utf-8")


def table(heading):
    """The rows of the table with this first column, as cells."""
    lines = iter(PAGE.splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            next(lines)
            break
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def variables_of_the_code():
    prefixes = ("WORLD_", "AGENT_", "ENTITY_", "CONTROLLER_", "PYTHON")
    values = [value for name, value in vars(contract).items() if name.isupper() and isinstance(value, str)]
    return {value for value in values if value.startswith(prefixes) and value != contract.WORLD_TOKEN}


def test_the_page_has_the_variables_of_the_code_and_marks_those_that_a_runner_always_sets(tmp_path):
    rows = table("variable")
    assert {row[0].strip("`") for row in rows} == variables_of_the_code()
    launch = Launch((Assignment("a", "b"),), config_path=tmp_path / "launch.json", heartbeat_fd=HEARTBEAT_FD)
    assert {row[0].strip("`") for row in rows if row[1] == "yes"} == set(launch.to_environment())


def test_the_page_has_the_keys_of_the_launch_file(tmp_path):
    replies = contract.KeptReplies(tmp_path / "replies", fills=True)
    launch = Launch(
        (Assignment("a", "b"),),
        config_path=tmp_path / "launch.json",
        replies=replies,
        tls=TlsFiles(tmp_path / "ca.pem"),
        world_token_file=tmp_path / "token",
    )
    launch.write_file()
    assert {row[0].strip("`") for row in table("key")} == set(json.loads((tmp_path / "launch.json").read_bytes()))
    assert f"{int(contract.MAX_LAUNCH_BYTES.maximum):,} bytes" in PAGE
    assert f"{int(contract.MAX_SECRETS_BYTES.maximum):,} bytes" in PAGE


def test_the_page_has_the_lease_file_as_the_kit_writes_it(tmp_path):
    LeaseFile(tmp_path, "127.0.0.1:50051", "me").keep(Secret("x" * 32))
    assert f"`{FILE_NAME}`" in PAGE
    for name in json.loads((tmp_path / FILE_NAME).read_bytes()):
        assert f"`{name}`" in PAGE


def test_the_heartbeat_of_the_page_is_one_and_its_states_are_those_of_the_code():
    (line,) = re.findall(r"```json\n(.+)\n```", PAGE)
    assert Heartbeat.decode(line.encode()) == Heartbeat(17, AgentState.RUNNING, 1, 1)
    assert f"at most {int(MAX_LINE_BYTES.maximum)} bytes" in PAGE
    (states,) = re.findall(r"`state` is ([^.]+)\.", PAGE)
    assert re.findall(r"`(\w+)`", states) == [str(state) for state in AgentState if str(state)]


@pytest.mark.parametrize("setting", ["start_timeout_ms", "heartbeat_timeout_ms", "missed_intents", "stop_grace_ms"])
def test_the_times_of_the_page_are_the_defaults_of_a_mapping(setting):
    (default,) = [row[1] for row in table("what") if row[2] == f"`{setting}`"]
    assert default.startswith(f"{getattr(AgentSpec('a', ('b',), Path()), setting):,}")


def test_the_claims_of_the_page_are_those_of_the_test_with_its_times():
    assert [row[0] for row in table("claim")] == [claim.text for claim in CLAIMS]
    plan = TrialPlan()
    assert f"ticks of {plan.tick_ms} ms and leases of {plan.lease_ttl_ms // 1000} s" in PAGE
    assert f"within {plan.back_s:g} seconds" in PAGE
    assert f"at least {plan.least_answered * 100:g} of 100" in PAGE
    assert f"at most {plan.most_late * 100:g} of 100 late" in PAGE


def test_the_page_names_the_version_and_the_lifetime_of_leases():
    assert f"This is contract {contract.CONTRACT_VERSION}:" in PAGE
    assert f"`ttl_ms` ({LEASE_TTL_MS:,})" in PAGE
    assert f"`{contract.DEFAULT_WORLD_ADDR}`" in PAGE

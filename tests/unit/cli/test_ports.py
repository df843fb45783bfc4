"""All ports are checked before anything starts."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickmind.base import ConfigError
from tickmind.cli import demo
from tickmind.cli.ports import WantedPort, check_ports

ROOT = Path(__file__).parents[3]


@pytest.fixture
def taken() -> Iterator[list[int]]:
    """Three ports that other programs listen on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    yield [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def test_every_port_that_is_taken_is_named_with_the_option_that_helps(taken: list[int]) -> None:
    wanted = [
        WantedPort("world", taken[0], "--port"),
        WantedPort("gateway", 0, "--gateway-port"),
        WantedPort("viewer", taken[1], "--viewer-port"),
    ]
    with pytest.raises(ConfigError) as refused:
        check_ports(wanted, "choose another")
    assert str(refused.value) == (
        f"port {taken[0]} of the world (--port), port {taken[1]} of the viewer (--viewer-port) can't be used: "
        "Address already in use. Nothing was started. End what listens there, or choose another"
    )


def test_free_ports_are_fine_and_one_port_is_not_for_two() -> None:
    port = free_port()
    check_ports([WantedPort("world", port, "--port"), WantedPort("viewer", 0, "--viewer-port")], "choose another")
    with pytest.raises(ConfigError, match=r"the world and the viewer can't both use port \d+; change --viewer-port"):
        check_ports([WantedPort("world", port, "--port"), WantedPort("viewer", port, "--viewer-port")], "")


@pytest.mark.parametrize(("place", "option"), [(0, "--port"), (1, "--gateway-port"), (2, "--viewer-port")])
def test_up_starts_nothing_if_a_port_is_taken(tickmind, taken, tmp_path, monkeypatch, place, option):
    monkeypatch.setattr("tickmind.cli.ensemble.ensemble.bring_up", lambda *_given: pytest.fail("something was started"))
    ports = [0, 0, 0]
    ports[place] = taken[place]
    options = zip(("--port", "--gateway-port", "--viewer-port"), map(str, ports), strict=True)
    scenario = str(ROOT / "scenarios" / "clearing.yaml")
    result = tickmind("up", scenario, "--state", str(tmp_path / "state"), *(word for pair in options for word in pair))
    assert result.exit_code == 1
    assert f"port {taken[place]} of the " in result.stderr
    assert f"({option}) can't be used: Address already in use. Nothing was started." in result.stderr
    assert "0 takes any free port, `--any-ports` takes free ones for all" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_the_demo_starts_nothing_if_a_port_is_taken_and_names_any_ports(tickmind, taken, tmp_path, monkeypatch):
    monkeypatch.setattr("tickmind.cli.ensemble.ensemble.bring_up", lambda *_given: pytest.fail("something was started"))
    for name, port in zip(("WORLD_PORT", "GATEWAY_PORT", "VIEWER_PORT"), taken, strict=True):
        monkeypatch.setattr(demo, name, port)
    result = tickmind("demo", "--scripted", "--no-browser")
    assert result.exit_code == 1
    for port in taken:
        assert f"port {port} of the " in result.stderr
    assert "--any-ports" in result.stderr
    assert not (tmp_path / "runs").exists()

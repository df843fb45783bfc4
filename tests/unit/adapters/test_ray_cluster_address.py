"""Joining a Ray cluster: what is wrong with its address is said in a sentence, before Ray tries for minutes."""

import socket
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tickmind.adapters.ray import connect_ray
from tickmind.adapters.ray.agent_actor import missing_tls_file, remove_left_folders
from tickmind.adapters.ray.cluster import CLIENT_TRIES
from tickmind.base import ConfigError
from tickmind.base.access.tls_files import TlsFiles
from tickmind.cli.app import app


@pytest.fixture
def deaf():
    """A port on which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize("on", ["slurm", "ray://", "Ray", "ray:10.0.0.1", "http://x:1"])
def test_only_ray_and_its_addresses_are_known(on):
    with pytest.raises(ConfigError, match="agents run on this machine, on `ray` or on"):
        connect_ray(on, {})


@pytest.mark.parametrize("on", ["ray://host", "ray://:10001", "ray://host:port", "ray://host:99999"])
def test_an_address_needs_a_host_and_a_port(on):
    with pytest.raises(ConfigError, match="write HOST:PORT"):
        connect_ray(on, {})


def test_a_cluster_that_does_not_answer_is_named_with_what_to_do(deaf):
    with pytest.raises(ConfigError, match=f"no Ray cluster answers at ray://{deaf}: .*; start one with `ray start"):
        connect_ray(f"ray://{deaf}", {})
    with pytest.raises(ConfigError, match=f"no Ray cluster answers at {deaf}"):
        connect_ray("ray", {"RAY_ADDRESS": deaf})


def test_a_client_server_that_fails_to_start_a_process_is_asked_again(monkeypatch):
    """Its processes are forks of a process with threads of gRPC; one in ten dies at once."""
    tries = []

    def init(**options):
        tries.append(options["address"])
        if len(tries) < CLIENT_TRIES:
            raise ConnectionAbortedError("Starting Ray client server failed")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"ray://127.0.0.1:{proxy.getsockname()[1]}"
        connect_ray(address, {})
        assert tries == [address] * CLIENT_TRIES
        tries[:] = []
        monkeypatch.setattr("tickmind.adapters.ray.cluster.CLIENT_TRIES", CLIENT_TRIES - 1)
        with pytest.raises(ConfigError, match="Starting Ray client server failed"):
            connect_ray(address, {})


def test_the_cluster_that_ran_here_last_is_named_when_it_is_gone(deaf, tmp_path):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray/ray_current_cluster").write_text(f"{deaf}\n")
    with pytest.raises(ConfigError, match=f"no Ray cluster answers at {deaf}"):
        connect_ray("ray", {"RAY_TMPDIR": str(tmp_path)})


def test_without_ray_the_command_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    mapping = tmp_path / "agents.yaml"
    mapping.write_text(
        "agents: {a: {cmd: [python, -m, tickmind.characters.random_walker]}}\nassignments: [{match: {}, use: a}]\n"
    )
    done = CliRunner().invoke(app, ["runner", str(mapping), "--on", "ray"])
    assert done.exit_code == 1
    assert "pip install 'tickmind[ray]'" in done.output


def test_a_node_without_the_files_of_a_mapping_s_tls_is_found_out(tmp_path):
    names = ca, certificate, key = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
    for path in names:
        assert missing_tls_file(TlsFiles(ca, certificate, key)) == path
        path.touch()
    assert missing_tls_file(TlsFiles(ca, certificate, key)) is None
    assert missing_tls_file(None) is None


def test_folders_of_dead_actors_are_removed_and_others_stay(tmp_path):
    for name in ("tickmind-agent-4194999-abc", "tickmind-agent-1-abc", "tickmind-agent-x-abc", "other"):
        (tmp_path / name).mkdir()
    remove_left_folders(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "tickmind-agent-1-abc", "tickmind-agent-x-abc"]

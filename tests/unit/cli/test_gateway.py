"""`tickmind gateway`: what it understood, what is wrong, keys for callers, and starting."""

import gc
import json
import os
import socket
import sys
import types
from pathlib import Path

import pytest
import yaml

from tickmind.gateway.fairness.caller_keys import CallerKeys, hash_key
from tickmind.gateway.settings.config import GatewayConfig
from tickmind.gateway.settings.file import default_config_text, load_config
from tickmind.gateway.settings.form import config_schema

PROVIDER_KEYS = ("GROQ_API_KEY", "CEREBRAS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in PROVIDER_KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def words(text):
    return " ".join(text.split())


@pytest.fixture
def served(monkeypatch):
    """The configs that were served, by a server that is ready at once and stops at once."""
    found: list[GatewayConfig] = []

    def serve(config, *, tls, listener, on_ready):
        assert tls is None
        if listener is not None:
            listener.detach()  # the test's own
        found.append(config)
        on_ready(f"http://{config.host}:{config.port}")

    module = types.ModuleType("tickmind.gateway.server")
    module.__dict__["serve"] = serve
    monkeypatch.setitem(sys.modules, "tickmind.gateway.server", module)
    return found


def test_check_shows_what_was_understood_and_no_key(tickmind, monkeypatch, canary):
    monkeypatch.setenv("GROQ_API_KEY", canary)
    result = tickmind("gateway", "--check")
    out = words(result.stdout)
    assert result.exit_code == 0
    assert "groq https://api.groq.com/openai/v1 30/min, burst 5, 2 at once set" in out
    assert "cerebras https://api.cerebras.ai/v1 60/min, burst 10, 2 at once not set" in out
    assert "ollama http://localhost:11434/v1 4 at once none" in out
    assert "Keys from: GROQ_API_KEY. Not set: CEREBRAS_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY." in out
    assert "openai/gpt-oss-120b groq/openai/gpt-oss-120b, then cerebras/gpt-oss-120b (no key)" in out
    assert "No name: openai/gpt-oss-120b." in out
    assert "Listens on 127.0.0.1:8766" in out
    assert canary not in result.output


def test_check_of_a_file_shows_its_own_settings(tickmind, monkeypatch, canary):
    Path("g.yaml").write_text(
        """
        listen: {host: 0.0.0.0, port: 9000, plaintext: true}
        providers:
          lan:
            base_url: http://gpu.example:8000/v1
            keys: [{key_env: LAN_KEY}, {key_env: LAN_KEY_2, limits: {requests_per_day: 1000}}]
            model_limits: {big: {tokens_per_minute: 6000}}
        allowed_base_urls: [https://allowed.example/v1]
        callers: [{name: arena, key_hash: "sha256:%s"}]
        redis_url: ${REDIS}
        key_id_secret: ${NAMES}
        """
        % ("0" * 64)
    )
    for name in ("LAN_KEY", "LAN_KEY_2", "NAMES"):
        monkeypatch.setenv(name, f"{canary}-{name}")
    monkeypatch.setenv("REDIS", f"redis://:{canary}@localhost")
    result = tickmind("gateway", "--config", "g.yaml", "--check", "--port", "9001")
    out = words(result.stdout)
    assert result.exit_code == 0
    assert "2 set" in out
    assert "big: 6,000 tokens/min" in out
    assert "LAN_KEY_2: 1,000/day" in out
    assert "Listens on 0.0.0.0:9001; callers with keys: arena." in out
    assert "the providers, https://allowed.example/v1." in out
    assert "shared through Redis" in out
    assert "the key of lan goes over the network in the clear" in out
    assert "leave this machine in the clear, as `plaintext` says" in out
    assert canary not in result.output


def test_check_tells_mistakes_by_line_and_exits_with_1(tickmind):
    Path("g.yaml").write_text("queue:\n  capacty: 5\n")
    result = tickmind("gateway", "--config", "g.yaml", "--check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("g.yaml:2:3: queue.capacty: there is no such setting (did you mean 'capacity'?)")


def test_a_literal_key_is_refused_and_not_repeated(tickmind, canary):
    Path("g.yaml").write_text(f"providers: {{groq: {{keys: [{{key: {canary}}}]}}}}")
    result = tickmind("gateway", "--config", "g.yaml", "--check")
    assert result.exit_code == 1
    assert "key_env: ITS_NAME" in result.stderr
    assert canary not in result.output


def test_a_missing_file_is_told(tickmind):
    result = tickmind("gateway", "--config", "none.yaml", "--check")
    assert result.exit_code == 1
    assert "none.yaml: the configuration file can't be read" in result.stderr


def test_the_schema_is_printed_for_editors(tickmind):
    result = tickmind("gateway", "--schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == config_schema()


def test_the_default_settings_are_printed_as_they_are_shipped(tickmind):
    result = tickmind("gateway", "--print-default-config")
    assert (result.exit_code, result.stdout) == (0, default_config_text())


def test_a_key_is_shown_once_with_the_entry_that_knows_it(tickmind):
    result = tickmind("gateway", "key", "arena")
    made = result.stdout.strip()
    assert result.exit_code == 0
    assert made not in result.stderr
    entry = result.stderr[result.stderr.index("  - name:") :]
    Path("g.yaml").write_text(f"callers:\n{entry}")
    (caller,) = load_config("g.yaml", env={}).callers
    assert CallerKeys([caller]).check(f"Bearer {made}") is caller
    assert caller.name == "arena"


@pytest.mark.parametrize("name", ["007", "true", "null", "a@b.c", "1e3"])
def test_any_name_makes_an_entry_that_can_be_read(tickmind, name):
    entry = tickmind("gateway", "key", name).stderr
    (read,) = yaml.safe_load(entry[entry.index("  - name:") :])
    assert read["name"] == name


@pytest.mark.parametrize("name", ["", "two words", "a\nb", "ü", "x" * 65, "-x"])
def test_a_name_that_would_not_fit_is_a_usage_error(tickmind, name):
    result = tickmind("gateway", "key", "--", name)
    assert (result.exit_code, result.stdout) == (2, "")


def test_it_serves_what_the_environment_says(tickmind, served, monkeypatch, canary):
    monkeypatch.setenv("GROQ_API_KEY", canary)
    result = tickmind("gateway", "--port", "9001")
    assert result.exit_code == 0
    assert result.stderr == "The gateway is at http://127.0.0.1:9001; Ctrl-C stops it.\n"
    (config,) = served
    assert config.port == 9001
    assert config.providers["groq"].keys[0].source == "GROQ_API_KEY"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_it_does_not_open_to_others_without_keys(tickmind, served, host):
    result = tickmind("gateway", "--host", host)
    assert result.exit_code == 1
    assert "tickmind gateway key NAME" in result.stderr
    assert served == []


@pytest.mark.parametrize(
    ("options", "where", "is_served"), [((), "", False), (("--plaintext",), "", True), ((), "plaintext: true", True)]
)
def test_it_does_not_open_to_others_without_tls(tickmind, served, tmp_path, options, where, is_served):
    settings = tmp_path / "gateway.yaml"
    callers = f"callers: [{{name: arena, key_hash: {hash_key('k')}}}]"
    settings.write_text(f"listen: {{host: 0.0.0.0, {where}}}\n{callers}\n")
    result = tickmind("gateway", "--config", str(settings), *options)
    assert (result.exit_code, len(served)) == (0, 1) if is_served else (1, 0)
    assert is_served or "give --tls" in result.stderr


def test_only_a_socket_that_listens_is_taken_over(tickmind):
    with socket.socket() as unbound, Path(os.devnull).open() as no_socket:
        for fd in (unbound.fileno(), no_socket.fileno()):
            result = tickmind("gateway", "--fd", str(fd))
            assert result.exit_code == 1
            assert "a socket that listens" in result.stderr or "a TCP socket that listens" in result.stderr
            assert "Traceback" not in result.stderr
        del result
        gc.collect()
        assert unbound.getsockname() == ("0.0.0.0", 0)  # what is refused is left to whom it belongs


def test_with_a_socket_its_address_is_the_gateway_s_own(tickmind, served, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = listener.getsockname()[1]
        for port in (own, GatewayConfig().port):
            monkeypatch.setenv("LLM_BASE_URL", f"http://127.0.0.1:{port}/v1")
            assert tickmind("gateway", "--fd", str(listener.fileno())).exit_code == 0
    assert [(config.host, config.port) for config in served] == [("127.0.0.1", own)] * 2
    assert ["default" in config.providers for config in served] == [False, True]

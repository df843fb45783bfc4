"""`tickmind websocket`, and `--play` of `tickmind viewer`."""

import json
import socket

import jsonschema
import pytest


def test_the_schema_is_printed_without_a_world(tickmind):
    result = tickmind("websocket", "--schema")
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "SocketRequest" in schema["$defs"]


def test_a_port_that_is_taken_is_a_plain_error(tickmind):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = tickmind("websocket", "--port", port)
    assert result.exit_code == 1
    assert f"127.0.0.1:{port} can't be used" in result.stderr
    assert "choose another port with --port" in result.stderr


def test_other_machines_need_tls_and_tokens(tickmind):
    result = tickmind("websocket", "--host", "0.0.0.0")
    assert result.exit_code == 1
    assert "0.0.0.0 can be reached from other machines" in result.stderr


@pytest.mark.parametrize(
    ("options", "is_mounted"),
    [
        ((), True),
        (("--no-play",), False),
        (("--host", "192.0.2.1"), False),
        (("--allow-host", "village.example"), False),
        (("--token-file", "TOKENS"), False),
        (("--host", "192.0.2.1", "--play"), True),
        (("--allow-host", "village.example", "--token-file", "TOKENS", "--play"), True),
    ],
    ids=["usual", "off", "other machines", "a proxy", "tokens of users", "other machines, on", "a proxy, on"],
)
def test_pages_may_play_on_this_machine_unless_the_user_says_otherwise(
    tickmind, monkeypatch, tmp_path, options, is_mounted
):
    tokens = tmp_path / "tokens"
    tokens.write_text("a-token-to-look-with\n")
    tokens.chmod(0o600)
    options = tuple(str(tokens) if option == "TOKENS" else option for option in options)
    mounted: list[str] = []

    async def serve(_source, _config, _begin, handlers):
        mounted.extend(handler.path for handler in handlers)

    monkeypatch.setattr("tickmind.cli.viewer._serve", serve)
    result = tickmind("viewer", "--world", "127.0.0.1:1", *options)
    assert result.exit_code == 0, result.output
    assert mounted == (["/ws/v1"] if is_mounted else [])

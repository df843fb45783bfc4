"""The operator's file: what it means, what it leaves as built in, and how its mistakes are told."""

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ConfigError, Secret, redact
from tickmind.base.problems import ConfigFileError
from tickmind.gateway.settings.config import OWN_LIMITS, UNKNOWN_LIMITS, GatewayConfig, Limits
from tickmind.gateway.settings.file import default_config_text, load_config
from tickmind.gateway.settings.form import config_schema

ID_SECRET = Secret("names-for-keys-in-tests")
ALL_KEYS = {
    "GROQ_API_KEY": "gsk_groq_0123456789",
    "CEREBRAS_API_KEY": "csk-cerebras-0123456789",
    "OPENAI_API_KEY": "sk-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
}
CANARY = "Zq8vRk2mTn5wXc7bLp9d"  # has no known shape


@pytest.fixture
def load(tmp_path):
    """A file's text, read."""

    def read(text="", env=None, **rest):
        path = tmp_path / "gateway.yaml"
        path.write_text(text, encoding="utf-8")
        return load_config(path, env=env or {}, key_id_secret=ID_SECRET, **rest)

    return read


@pytest.fixture
def complaint(load):
    """What is said about a file that can't be used, without the folder it is in."""

    def read(text, env=None):
        with pytest.raises(ConfigFileError) as caught:
            load(text, env)
        return str(caught.value).replace(f"{Path(caught.value.file).parent}/", "")

    return read


# Defaults

ENVIRONMENTS = [
    {},
    ALL_KEYS,
    {
        "GROQ_API_KEY": "gsk_groq_0123456789",
        "LLM_BASE_URL": "http://127.0.0.1:9000/v1",
        "LLM_MODEL": "openai/gpt-oss-20b",
    },
    {"LLM_BASE_URL": "https://api.openai.com/v1", "LLM_API_KEY": "sk-0123456789"},
]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_default_file_says_what_holds_without_a_file(load, env):
    assert load(default_config_text(), env) == load_config(env=env, key_id_secret=ID_SECRET)


def test_an_empty_file_says_nothing(load):
    assert load("", ALL_KEYS) == load("# nothing\n", ALL_KEYS) == load_config(env=ALL_KEYS, key_id_secret=ID_SECRET)


def test_the_built_in_providers_have_their_limits_fallbacks_and_models():
    providers = load_config(env=ALL_KEYS).providers
    assert {
        name: (one.base_url, one.default_model, one.limits, [target[0] for target in one.fallback])
        for name, one in providers.items()
    } == {
        "groq": (
            "https://api.groq.com/openai/v1",
            "openai/gpt-oss-120b",
            Limits(requests_per_minute=30, burst=5, concurrency=2),
            ["cerebras"],
        ),
        "cerebras": (
            "https://api.cerebras.ai/v1",
            "gpt-oss-120b",
            Limits(requests_per_minute=60, burst=10, concurrency=2),
            ["groq"],
        ),
        "openai": (
            "https://api.openai.com/v1",
            "gpt-6-luna",
            Limits(requests_per_minute=10, burst=3, concurrency=1),
            [],
        ),
        "anthropic": (
            "https://api.anthropic.com/v1",
            "claude-haiku-5-5",
            Limits(requests_per_minute=50, burst=5, concurrency=1),
            [],
        ),
        "ollama": ("http://localhost:11434/v1", "qwen3:4b", Limits(concurrency=4), []),
    }


def settings_of(schema, root, path=()):
    """Every setting that the schema knows, as a path; names that people choose are `*`."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].rsplit("/", 1)[1]], **schema}
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name)
        yield from settings_of(inner, root, (*path, name))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from settings_of(schema["additionalProperties"], root, (*path, "*"))
    if "items" in schema:
        yield from settings_of(schema["items"], root, (*path, "*"))


def said_in(value, path=()):
    """Every setting that a file says, with its own names beside `*`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            for step in (name, "*"):
                yield (*path, step)
                yield from said_in(inner, (*path, step))
    elif isinstance(value, list):
        for inner in value:
            yield from said_in(inner, (*path, "*"))


def test_the_default_file_has_every_setting():
    said = set(said_in(yaml.safe_load(default_config_text())))
    examples_only = ("callers", "model_limits", "keys", "models", "patterns")  # shown in comments beside them
    wanted = {
        path for path in settings_of(config_schema(), config_schema()) if not set(path[:-1]).intersection(examples_only)
    }
    assert wanted - said == set()
    for name in ("key_file:", "key_hash:", "weight:", "limits:", "model:", "fallback:"):
        assert name in default_config_text()


def test_the_schema_tells_the_defaults_that_hold():
    defaults = GatewayConfig()
    for name in ("queue", "sharing", "circuit", "retry", "wire", "cache"):
        section = getattr(defaults, name)
        parts = config_schema()["properties"][name]["properties"]
        assert parts.keys() == set(section.__dataclass_fields__)
        for setting, part in parts.items():
            if "default" in part:
                assert part["default"] == getattr(section, setting), (name, setting)
    elsewhere = {"listen": {"host", "port", "plaintext"}, "models": {"exact"}, "llm_variables": set()}
    told = {name for setting in config_schema()["properties"] for name in elsewhere.get(setting, {setting})}
    assert told == set(GatewayConfig.__dataclass_fields__)
    limits = config_schema()["$defs"]["limits"]["properties"]
    assert {name: part["default"] for name, part in limits.items()} == {
        name: getattr(Limits(), name) for name in Limits.__dataclass_fields__
    }


def test_the_schema_is_a_schema_and_explains_every_setting():
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(config_schema())

    def check(schema):
        assert schema.get("description") or "$ref" in schema or "enum" in schema, schema
        for inner in schema.get("properties", {}).values():
            check(inner)

    check(config_schema())
    for inner in config_schema()["$defs"].values():
        check(inner)


# What a file changes


def test_a_file_is_laid_over_what_is_built_in(load):
    config = load(
        """
        listen: {port: 9000}
        providers:
          groq: {limits: {requests_per_minute: 60, tokens_per_minute: 6000}}
        queue: {capacity: 7}
        """,
        ALL_KEYS,
    )
    assert config.providers["groq"].limits == Limits(
        requests_per_minute=60, tokens_per_minute=6000, burst=5, concurrency=2
    )
    assert config.providers["cerebras"].limits.requests_per_minute == 60
    assert (config.host, config.port, config.queue.capacity, config.queue.max_wait_s) == ("127.0.0.1", 9000, 7, 60.0)


def test_host_and_port_of_the_command_go_first(load):
    config = load("listen: {host: 127.0.0.2, port: 9000}", host="127.0.0.3", port=1)
    assert (config.host, config.port) == ("127.0.0.3", 1)


def test_an_unknown_endpoint_gets_careful_limits(load):
    provider = load("providers: {mine: {base_url: 'http://gpu.example:8000/v1/', keys: []}}").providers["mine"]
    assert (provider.base_url, provider.limits) == ("http://gpu.example:8000/v1", UNKNOWN_LIMITS)
    assert [(key.id, bool(key.secret)) for key in provider.keys] == [("none", False)]


@pytest.mark.parametrize(
    "host",
    ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.1.7", "10.0.0.1:8000", "[fd12::1]:80", "gpu-box"],
)
def test_an_endpoint_on_this_machine_or_in_its_network_is_limited_by_concurrency_only(load, host):
    config = load(f"providers: {{mine: {{base_url: 'http://{host}/v1', keys: []}}}}")
    assert config.providers["mine"].limits == OWN_LIMITS
    assert load("", {"LLM_BASE_URL": f"http://{host}/v1", "LLM_API_KEY": "k"}).providers["default"].limits == OWN_LIMITS


@pytest.mark.parametrize("host", ["8.8.8.8", "192.168.1.7.example.com", "169.254.169.254", "[2606:4700::1]"])
def test_an_endpoint_elsewhere_stays_careful(load, host):
    config = load(f"providers: {{mine: {{base_url: 'http://{host}/v1', keys: []}}}}")
    assert config.providers["mine"].limits == UNKNOWN_LIMITS


def test_a_rate_per_second_takes_the_place_of_the_careful_one_per_minute(load):
    config = load("providers: {mine: {base_url: 'https://x.example/v1', keys: [], limits: {requests_per_second: 20}}}")
    assert config.providers["mine"].limits == Limits(requests_per_second=20, burst=1, concurrency=1)


def test_a_limit_can_be_lifted(load):
    config = load("providers: {groq: {limits: {requests_per_minute: null, concurrency: null}}}")
    assert config.providers["groq"].limits == Limits(burst=5)


def test_whole_numbers_and_fractions_are_what_the_types_say(load):
    config = load("queue: {capacity: 5.0, max_wait_s: 3}\nproviders: {groq: {limits: {requests_per_minute: 30}}}")
    assert isinstance(config.queue.capacity, int)
    assert isinstance(config.queue.max_wait_s, float)
    assert isinstance(config.providers["groq"].limits.requests_per_minute, float)


def test_a_disabled_provider_is_left_out_of_every_chain(load):
    config = load(default_config_text().replace("enabled: true", "enabled: false", 1), ALL_KEYS)
    assert "groq" not in config.providers
    assert config.providers["cerebras"].fallback == ()
    assert "openai/gpt-oss-120b" not in config.exact
    assert [target[0] for target in config.exact["gpt-oss-120b"].targets] == ["cerebras"]


def test_fallback_goes_to_providers_and_to_certain_models_of_them(load):
    config = load("models: {npc: {provider: groq, model: a/b, fallback: [groq/c/d, cerebras, openai/gpt-4o]}}")
    assert config.exact["npc"].targets == (
        ("groq", "a/b"),
        ("groq", "c/d"),
        ("cerebras", "gpt-oss-120b"),
        ("openai", "gpt-4o"),
    )


def test_a_route_without_fallback_takes_the_providers(load):
    config = load("models: {npc: {provider: groq}, lone: {provider: groq, fallback: []}}")
    assert config.exact["npc"].targets == (("groq", "npc"), ("cerebras", "gpt-oss-120b"))
    assert config.exact["lone"].targets == (("groq", "lone"),)


def test_patterns_of_a_file_replace_the_built_in_ones(load):
    assert [pattern for pattern, _ in load("patterns: [{match: 'x*', provider: groq}]").patterns] == ["x*"]
    assert load("patterns: []").patterns == ()


def test_pages_are_allowed_by_origins_as_browsers_write_them(load, complaint):
    config = load("allowed_origins: ['https://Game.Example:443', 'http://game.example:8080/']")
    assert config.allowed_origins == ("https://game.example", "http://game.example:8080")
    for wrong in ("*", "null", "game.example", "https://game.example/page", "https://*.example"):
        assert "gateway.yaml:1:19: allowed_origins[0]: expected scheme" in complaint(f"allowed_origins: ['{wrong}']")


def test_an_alias_repeats_what_it_stands_for(load):
    config = load(
        """
        providers:
          groq: {limits: &slow {requests_per_minute: 3}}
          cerebras: {limits: *slow}
        """
    )
    assert [config.providers[name].limits.requests_per_minute for name in ("groq", "cerebras")] == [3, 3]


def test_words_are_words_even_if_older_yaml_took_them_for_something_else(load):
    config = load("sharing: {weights: {no: 2, on: 3, 12:30: 4}}\ndefault_model: off")
    assert config.sharing.weights == {"no": 2.0, "on": 3.0, "12:30": 4.0}
    assert config.default_model == "off"


# The LLM_ variables


def test_llm_concurrency_is_how_many_requests_may_be_under_way():
    env = {"LLM_BASE_URL": "http://127.0.0.1:9000/v1", "LLM_CONCURRENCY": "1"}
    assert load_config(env=env).providers["default"].limits.concurrency == 1


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5", "²", "9" * 5000])
def test_a_wrong_llm_concurrency_is_told(said):
    with pytest.raises(ConfigFileError, match="LLM_CONCURRENCY must be the number of requests"):
        load_config(env={"LLM_BASE_URL": "http://127.0.0.1:9000/v1", "LLM_CONCURRENCY": said})


def test_the_llm_variables_are_a_provider_of_their_own():
    env = {"LLM_BASE_URL": "https://llm.example/v1", "LLM_API_KEY": "k-0123456789", "LLM_MODEL": "big"}
    config = load_config(env=env)
    provider = config.providers["default"]
    assert (provider.base_url, provider.default_model) == ("https://llm.example/v1", "big")
    assert [key.source for key in provider.keys] == ["LLM_API_KEY"]
    assert config.default_model == "big"
    assert config.exact["big"].targets == (("default", "big"),)


def test_the_llm_key_goes_to_no_other_provider():
    env = {**ALL_KEYS, "LLM_BASE_URL": "https://llm.example/v1", "LLM_API_KEY": "k-0123456789"}
    for name, provider in load_config(env=env).providers.items():
        has_it = any(key.secret.reveal() == "k-0123456789" for key in provider.keys)
        assert has_it == (name == "default")


def test_the_llm_variables_may_name_a_built_in_provider():
    env = {"LLM_BASE_URL": "https://api.groq.com/openai/v1/", "LLM_API_KEY": "k-0123456789", "LLM_MODEL": "m"}
    config = load_config(env=env)
    assert "default" not in config.providers
    assert [key.source for key in config.providers["groq"].keys] == ["LLM_API_KEY"]
    assert config.exact["m"].targets == (("groq", "m"),)


def test_an_llm_key_alone_is_openais():
    config = load_config(env={"LLM_API_KEY": "k-0123456789"})
    assert [key.source for key in config.providers["openai"].keys] == ["LLM_API_KEY"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_llm_address_that_is_the_gateways_own_is_no_provider(host):
    assert "default" not in load_config(env={"LLM_BASE_URL": f"http://{host}:8766/v1"}).providers
    assert "default" in load_config(env={"LLM_BASE_URL": f"http://{host}:8767/v1"}).providers


def test_the_llm_variables_can_be_left_alone(load):
    assert "default" not in load("llm_variables: false", {"LLM_BASE_URL": "http://127.0.0.1:1/v1"}).providers


def test_an_unusable_llm_address_is_told():
    with pytest.raises(ConfigFileError, match="LLM_BASE_URL can't be used"):
        load_config(env={"LLM_BASE_URL": "llm.example"})


# Secrets


def test_a_variable_that_is_not_set_leaves_its_key_out(load):
    provider = load("").providers["groq"]
    assert (provider.keys, provider.missing_keys) == ((), ("GROQ_API_KEY",))


def test_several_keys_come_from_variables_files_and_references(load, tmp_path):
    (tmp_path / "third").write_text("third-0123456789\n")
    (tmp_path / "third").chmod(0o600)
    text = """
    providers:
      groq:
        keys:
          - key_env: FIRST
          - {key: "${SECOND}", limits: {requests_per_day: 5}}
          - key_file: third
    """
    keys = load(text, {"FIRST": "first-0123456789", "SECOND": "second-0123456789"}).providers["groq"].keys
    assert [key.secret.reveal().split("-")[0] for key in keys] == ["first", "second", "third"]
    assert [key.source for key in keys] == ["FIRST", "SECOND", "third"]
    assert keys[1].limits == Limits(requests_per_day=5)
    assert len({key.id for key in keys}) == 3


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o644])
def test_a_key_file_that_others_can_read_is_refused(complaint, tmp_path, mode):
    (tmp_path / "key").write_text(CANARY)
    (tmp_path / "key").chmod(mode)
    said = complaint("providers: {groq: {keys: [{key_file: key}]}}")
    assert said.startswith("gateway.yaml:1:27: providers.groq.keys[0]: the key file")
    assert "chmod 600" in said
    assert CANARY not in said


@pytest.mark.parametrize("content", ["", "\n", "two words", f"{CANARY}\n{CANARY}", "schlüssel", "a\x00b"])
def test_a_key_file_holds_one_key_and_nothing_else(complaint, tmp_path, content):
    (tmp_path / "key").write_text(content)
    (tmp_path / "key").chmod(0o600)
    said = complaint("providers: {groq: {keys: [{key_file: key}]}}")
    assert "providers.groq.keys[0]" in said
    assert CANARY not in said


def test_a_key_file_that_is_none_is_told(complaint, tmp_path):
    assert "No such file" in complaint("providers: {groq: {keys: [{key_file: nothing}]}}")
    assert "no regular file" in complaint("providers: {groq: {keys: [{key_file: .}]}}")
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "no regular file" in complaint("providers: {groq: {keys: [{key_file: pipe}]}}")


LITERAL_SECRETS = [
    f"providers: {{groq: {{keys: [{{key: {CANARY}}}]}}}}",
    f"providers: {{groq: {{keys: [{{key_env: {CANARY}-x}}]}}}}",
    f"providers: {{groq: {{keys: [{CANARY}]}}}}",
    f"providers: {{groq: {{keys: {CANARY}}}}}",
    f"providers: {{groq: {{api_key: {CANARY}}}}}",
    f"providers: {{groq: {{apiKey: {CANARY}}}}}",
    f"providers: {{groq: {{headers: {{Authorization: Bearer {CANARY}}}}}}}",
    f"providers: {{groq: {{headers: {{X-Api-Key: {CANARY}}}}}}}",
    f"providers: {{groq: {{headers: {{x-goog: [{CANARY}]}}}}}}",
    f"providers: {{groq: {{base_url: 'https://user:{CANARY}@api.groq.com/v1'}}}}",
    f"redis_url: redis://:{CANARY}@localhost",
    f"redis_url: redis://:{CANARY}@${{GROQ_API_KEY}}/0",
    f"redis_url: redis://${{GROQ_API_KEY}}:{CANARY}@localhost/0",
    f"redis_url: redis://:{CANARY}/x@localhost/0",
    f"redis_url: {CANARY}",
    f"key_id_secret: {CANARY}",
    f"callers: [{{name: a, key_hash: {CANARY}}}]",
    f"callers: [{CANARY}]",
]


@pytest.mark.parametrize("text", LITERAL_SECRETS)
def test_a_literal_secret_is_refused_and_not_repeated(complaint, text):
    said = complaint(text)
    assert "gateway.yaml:1:" in said
    assert CANARY not in said


def test_a_literal_key_is_told_how_to_do_it(complaint):
    said = complaint(LITERAL_SECRETS[0])
    assert said.startswith("gateway.yaml:1:33: providers.groq.keys[0].key: don't write keys into the file")
    assert "key_env: ITS_NAME" in said
    assert "key_file: PATH" in said


@pytest.mark.parametrize("value", ["two words", "schlüssel-123", "a\tb"])
def test_a_variable_that_holds_no_key_is_told_without_its_value(complaint, value):
    said = complaint("", {"GROQ_API_KEY": value})
    assert "the value of GROQ_API_KEY" in said
    assert value not in said


def test_a_reference_to_nothing_is_told(complaint):
    said = complaint("providers:\n  groq:\n    keys:\n      - key: ${NOT_THERE}")
    assert said == (
        "gateway.yaml:4:9: providers.groq.keys[0]: the environment variable NOT_THERE is not set; set it, or take "
        "${NOT_THERE} out"
    )


def test_secret_headers_are_kept_apart_and_hidden(load):
    text = "providers: {groq: {headers: {X-Team: '${TEAM}', X-Title: my game}}}"
    provider = load(text, {"TEAM": CANARY}).providers["groq"]
    assert dict(provider.headers) == {"X-Title": "my game"}
    assert provider.secret_headers["X-Team"].reveal() == CANARY
    assert CANARY not in repr(provider)


def test_nothing_that_is_shown_of_a_config_holds_a_key():
    config = load_config(env={**ALL_KEYS, "GROQ_API_KEY": CANARY})
    assert CANARY not in repr(config)
    assert CANARY not in str(config)


def test_the_servers_keys_stay_masked_however_many_keys_strangers_bring():
    load_config(env={"GROQ_API_KEY": CANARY})
    for number in range(2000):
        Secret(f"a-stranger's-key-{number}")
    assert CANARY not in redact(f"the provider said {CANARY}")


def test_a_key_that_is_listed_twice_is_told(complaint):
    env = {"A": "same-0123456789", "B": "same-0123456789"}
    assert "listed twice" in complaint("providers: {groq: {keys: [{key_env: A}, {key_env: B}]}}", env)


def test_gateways_that_share_redis_must_agree_on_names_for_keys(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text("redis_url: redis://localhost")
    with pytest.raises(ConfigFileError, match="need the same key_id_secret"):
        load_config(path, env={})
    path.write_text("redis_url: redis://:${PASS}@localhost\nkey_id_secret: ${NAMES}")
    config = load_config(path, env={"PASS": CANARY, "NAMES": "names-0123456789"})
    assert config.redis_url.reveal() == f"redis://:{CANARY}@localhost"


@pytest.mark.parametrize("password", ["a/b", "1/2", "a?b", "a#b", "1#b", "a@b/c"])
def test_a_password_that_breaks_the_address_of_redis_is_told_without_it(complaint, password):
    password = f"{password}-{CANARY}"
    said = complaint("redis_url: redis://:${PASS}@localhost/0\nkey_id_secret: ${PASS}", {"PASS": password})
    assert "redis_url" in said
    assert "percent-encoded" in said
    assert CANARY not in said
    assert password[:3] not in said


@pytest.mark.parametrize("url", ["redis://", "rediss://u:p%2Fq@h:1/3?ssl_ca_certs=/x", "unix:///a/b.sock?db=1"])
def test_addresses_of_redis_are_taken(tmp_path, url):
    path = tmp_path / "g.yaml"
    path.write_text("redis_url: ${REDIS}\nkey_id_secret: ${NAMES}")
    assert load_config(path, env={"REDIS": url, "NAMES": "names-0123456789"}).redis_url.reveal() == url


# Mistakes

MISTAKES = [
    (
        "queue:\n  capacity: five\n",
        (
            "gateway.yaml:2:13: queue.capacity: expected a whole number of 1 or more up to 1,000,000, not 'five'; "
            "write for example `capacity: 100`"
        ),
    ),
    (
        "queue:\n  capacty: 5\n",
        (
            "gateway.yaml:2:3: queue.capacty: there is no such setting (did you mean 'capacity'?); there are: "
            "capacity, max_wait_s, priority_age_s, max_rounds, replace_older"
        ),
    ),
    (
        "sharing: {mode: fare}",
        "gateway.yaml:1:17: sharing.mode: expected fair or strict, not 'fare'; write for example `mode: fair`",
    ),
    (
        "listen: {port: 70000}",
        (
            "gateway.yaml:1:16: listen.port: expected a whole number of 0 or more up to 65,535, not 70000; "
            "write for example `port: 8766`"
        ),
    ),
    (
        "providers:\n  groq:\n    limits:\n",
        "gateway.yaml:3:12: providers.groq.limits: expected a mapping (name: value), not nothing",
    ),
    (
        "models: {npc: {model: x}}",
        "gateway.yaml:1:15: models.npc: 'provider' is missing; write for example `provider: groq`",
    ),
    (
        "providers: {groq: {keys: [{key_env: A, key_file: b}]}}",
        (
            "gateway.yaml:1:27: providers.groq.keys[0]: expected exactly one of key_env, key_file and key; "
            'write for example `- {"key_env": "GROQ_API_KEY"}`'
        ),
    ),
    (
        "providers: {My Server: {base_url: 'http://x'}}",
        (
            "gateway.yaml:1:13: providers: expected a name of small letters, digits, - and _, such as my-server, "
            "not 'My Server'"
        ),
    ),
    (
        "providers: {mine: {keys: []}}",
        (
            "gateway.yaml:1:19: providers.mine: 'base_url' is missing: 'mine' is not built in; write for example "
            "`base_url: https://api.example.com/v1`"
        ),
    ),
    (
        "providers: {mine: {base_url: 'https://mine.example'}}",
        (
            "gateway.yaml:1:19: providers.mine: 'keys' is missing; write `keys: [{key_env: NAME_OF_A_VARIABLE}]`, or "
            "`keys: []` if it needs none"
        ),
    ),
    (
        "models: {npc: {provider: grok}}",
        (
            "gateway.yaml:1:26: models.npc.provider: there is no provider 'grok' (did you mean 'groq'?); there are: "
            "anthropic, cerebras, default, groq, ollama, openai"
        ),
    ),
    ("queue: {}\nqueue: {}\n", "gateway.yaml:2:1: the key 'queue' stands here twice, first in line 1; keep one"),
    ("queue: [\n", "gateway.yaml:2:1: this is no valid YAML: expected the node content, but found '<stream end>'"),
    (
        "queue:\n\tcapacity: 3\n",
        (
            "gateway.yaml:2:1: this is no valid YAML: found character '\\t' that cannot start any token; "
            "indent with blanks, not with tabs"
        ),
    ),
    ("just words", "gateway.yaml:1:1: expected a mapping (name: value), not 'just words'"),
    ("queue: {capacity: !!python/name:os.system x}", "gateway.yaml:1:19: queue.capacity: expected"),
    ("queue: {capacity: !secret x}", "gateway.yaml:1:19: queue.capacity: tags (!name) are not read"),
    ("wire: {default_timeout_s: 700}", "gateway.yaml:1:27: wire.default_timeout_s: it is 700, longer than"),
    ("allowed_base_urls: ['http://10.0.0.1']", "gateway.yaml:1:21: allowed_base_urls[0]: 10.0.0.1 is private; an"),
    ("private_base_urls: ['http://169.254.169.254']", "gateway.yaml:1:21: private_base_urls[0]: 169.254.169.254 is a"),
    (
        "providers: {me: {base_url: 'http://127.0.0.1:8766/v1'}}",
        "gateway.yaml:1:28: providers.me.base_url: this is the gateway's own address",
    ),
    ("callers:\n  - {name: a b, key_hash: x}", "gateway.yaml:2:12: callers[0].name: expected letters, digits"),
    ("providers: {groq: {headers: {Host: x}}}", "gateway.yaml:1:36: providers.groq.headers.Host: the gateway sets"),
    ("providers: {groq: {surfaces: []}}", "gateway.yaml:1:30: providers.groq.surfaces: expected at least 1 entries"),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES, ids=[text.splitlines()[0][:50] for text, _ in MISTAKES])
def test_a_mistake_is_told_by_place_and_by_what_to_write(complaint, text, expected):
    assert complaint(text).startswith(expected)


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(complaint):
    said = complaint("queue: {capacity: 0}\nsharing: {mode: x}\nwire: {max_connections: many}")
    assert [line.split(":")[1] for line in said.splitlines()] == ["1", "2", "3"]


def test_very_many_mistakes_are_cut_short(complaint):
    said = complaint("queue:\n" + "".join(f"  x{number}: 1\n" for number in range(100)))
    assert said.splitlines()[-1] == "gateway.yaml: and 80 more"


def test_two_callers_can_not_share_a_name_or_a_key(complaint):
    first, second = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
    said = complaint(f"callers: [{{name: a, key_hash: '{first}'}}, {{name: a, key_hash: '{second}'}}]")
    assert "two callers named 'a'" in said
    said = complaint(f"callers: [{{name: a, key_hash: '{first}'}}, {{name: b, key_hash: '{first}'}}]")
    assert "callers[1].key_hash: 'a' has the same key" in said


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="--print-default-config"):
        load_config(tmp_path / "none.yaml", env={})


def test_a_file_that_is_no_text_is_told(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigFileError, match="not UTF-8"):
        load_config(path, env={})
    path.write_bytes(b"#" * 2_000_000)
    with pytest.raises(ConfigFileError, match="size of the configuration file"):
        load_config(path, env={})


@pytest.mark.slow
def test_a_bomb_of_aliases_is_stopped(complaint):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "number of values" in complaint("\n".join(lines))
    assert "nesting" in complaint("a: &a [*a]")
    assert "gateway.yaml" in complaint("[" * 5000)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just(CANARY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
DEFAULT = yaml.safe_load(default_config_text())


def paths_in(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_in(inner, (*path, step))


def complaint_or_none(file, env):
    """What is wrong in a file, None if nothing is; any other error is the reader's own."""
    try:
        load_config(file, env=env)
    except ConfigFileError as error:
        return str(error)
    return None


@pytest.mark.slow
@settings(max_examples=short_or_long(75, 150), deadline=None)
@given(st.sampled_from(list(paths_in(DEFAULT))), JSON_VALUES)
def test_whatever_a_file_says_it_is_read_or_refused(tmp_path_factory, path, value):
    document = json.loads(json.dumps(DEFAULT))
    if path:
        *steps, last = path
        inner = document
        for step in steps:
            inner = inner[step]
        inner[last] = value
    else:
        document = value
    file = tmp_path_factory.mktemp("any") / "g.yaml"
    file.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    said = complaint_or_none(file, ALL_KEYS)
    if said is not None:
        secret = {"keys", "headers", "redis_url", "key_id_secret", "callers"}.intersection(map(str, path))
        assert not (secret and value == CANARY and CANARY in said)
        assert said.startswith(str(file))


@pytest.mark.slow
@settings(max_examples=short_or_long(75, 150), deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}#&*!|>'\"%@,\n\t 01.~"), max_size=60))
def test_no_text_breaks_the_reader(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("any") / "g.yaml"
    file.write_text(text, encoding="utf-8")
    said = complaint_or_none(file, {})
    assert said is None or said.startswith(str(file))

"""Where models go: the table, the patterns, provider/model, and refusals that help."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ConfigError, Secret
from tickmind.gateway.refusal import Code, RefusedError
from tickmind.gateway.routing.router import Router, compile_pattern
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Provider, Route
from tickmind.gateway.settings.file import load_config
from tickmind.gateway.settings.key_ids import KeyIds

ENV = {
    "GROQ_API_KEY": "gsk_groq_0123456789",
    "CEREBRAS_API_KEY": "csk-cerebras-0123456789",
    "OPENAI_API_KEY": "sk-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
}


def router_of(env=ENV, **rest):
    return Router(load_config(env=env), **rest)


def chain(router, model, surface="chat"):
    return [(target.provider.name, target.model) for target in router.plan(model, surface).targets]


def refusal(router, model, surface="chat"):
    with pytest.raises(RefusedError) as caught:
        router.plan(model, surface)
    return caught.value.refusal


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "qwen/qwen3-32b",
            [("groq", "qwen/qwen3-32b"), ("cerebras", "llama-3.3-70b"), ("openai", "gpt-4-turbo")],
        ),
        ("llama-3.3-70b-versatile", [("groq", "llama-3.3-70b-versatile"), ("cerebras", "llama-3.3-70b")]),
        ("llama-3.3-70b", [("cerebras", "llama-3.3-70b"), ("groq", "qwen/qwen3-32b")]),
        ("gpt-4-turbo", [("openai", "gpt-4-turbo")]),
        ("gpt-4o", [("openai", "gpt-4o")]),
        ("claude-3-5-sonnet-20241022", [("anthropic", "claude-3-5-sonnet-20241022")]),
        ("qwen3:4b", [("ollama", "qwen3:4b")]),
        # patterns
        ("gpt-5-nano", [("openai", "gpt-5-nano")]),
        ("claude-4", [("anthropic", "claude-4")]),
        ("my-llama-8b", [("groq", "my-llama-8b"), ("cerebras", "llama-3.3-70b")]),
        # provider/model, split at the first slash
        ("openai/gpt-4o", [("openai", "gpt-4o")]),
        ("ollama/llama3", [("ollama", "llama3")]),
        ("groq/openai/gpt-oss-20b", [("groq", "openai/gpt-oss-20b"), ("cerebras", "llama-3.3-70b")]),
        ("groq/qwen/qwen3-32b", [("groq", "qwen/qwen3-32b"), ("cerebras", "llama-3.3-70b")]),
        ("cerebras", [("cerebras", "llama-3.3-70b"), ("groq", "qwen/qwen3-32b")]),
        # none named
        ("", [("groq", "qwen/qwen3-32b"), ("cerebras", "llama-3.3-70b"), ("openai", "gpt-4-turbo")]),
        ("default", [("groq", "qwen/qwen3-32b"), ("cerebras", "llama-3.3-70b"), ("openai", "gpt-4-turbo")]),
    ],
)
def test_a_model_goes_where_the_table_the_patterns_or_its_own_name_say(model, expected):
    assert chain(router_of(), model) == expected


@pytest.mark.parametrize("model", ["nobody/knows", "groq/", "/x", "qwen", "llama/x/llama"])
def test_an_unknown_model_is_refused(model):
    assert refusal(router_of(), model).code is Code.UNKNOWN_MODEL


def test_a_refusal_lists_what_is_near():
    message = refusal(router_of(), "qwen3-32b").message
    assert "'qwen3-32b'" in message
    assert "similar names: qwen/qwen3-32b" in message


def test_a_refusal_lists_what_there_is_when_nothing_is_near():
    assert "known models: qwen/qwen3-32b, " in refusal(router_of(), "zzz").message


@pytest.mark.parametrize("model", ["x" * 257, "a\nb", "a\x00", " a", "a ", "\u202e"])
def test_a_name_that_is_none_is_refused_before_anything_is_looked_up(model):
    assert refusal(router_of(), model).code is Code.UNKNOWN_MODEL


def test_without_a_key_the_refusal_names_what_the_operator_can_set():
    found = refusal(router_of({}), "gpt-4o")
    assert found.code is Code.UNKNOWN_MODEL
    assert "OPENAI_API_KEY" in found.message


def test_providers_without_a_key_are_passed_over():
    assert chain(router_of({"CEREBRAS_API_KEY": ENV["CEREBRAS_API_KEY"]}), "qwen/qwen3-32b") == [
        ("cerebras", "llama-3.3-70b")
    ]


def test_without_any_key_the_default_is_the_model_on_this_machine():
    assert chain(router_of({}), "") == [("ollama", "qwen3:4b")]


def test_a_model_that_is_named_default_goes_before_the_default_model():
    config = load_config(env=ENV)
    named = replace(config, exact={**config.exact, "default": Route((("openai", "gpt-4o"),))})
    assert chain(Router(named), "default") == [("openai", "gpt-4o")]


def test_targets_without_the_surface_are_passed_over():
    assert chain(router_of(), "qwen/qwen3-32b", "responses") == [("openai", "gpt-4-turbo")]
    message = refusal(router_of(), "llama-3.3-70b", "responses").message
    assert "responses API of cerebras, groq" in message


def test_several_keys_of_a_provider_are_several_targets():
    keys = tuple(ApiKey(name, Secret(f"{name}-0123456789")) for name in ("one", "two"))
    providers = {
        "a": Provider("a", "http://a.example", keys=keys),
        "b": Provider("b", "http://b.example", keys=(ApiKey("three", Secret("three-0123456789")),)),
    }
    router = Router(GatewayConfig(providers=providers, exact={"m": Route((("a", None), ("a", "n"), ("b", "o")))}))
    assert [(target.key.id, target.model) for target in router.plan("m").targets] == [
        ("one", "m"),
        ("two", "m"),
        ("one", "n"),
        ("two", "n"),
        ("three", "o"),
    ]


def test_a_plan_is_made_once():
    router = router_of()
    for model in ("qwen/qwen3-32b", "gpt-5", "ollama/x", ""):
        assert router.plan(model) is router.plan(model)
    assert router.plan("") is router.plan("qwen/qwen3-32b")
    assert router.plan("gpt-4o") is not router.plan("gpt-4o", "responses")


def test_invented_names_do_not_grow_the_router_nor_push_out_those_in_use():
    router = router_of(max_plans=8)
    exact, used = router.plan("gpt-4o"), router.plan("gpt-used")
    for number in range(1000):
        router.plan(f"gpt-{number}")
        assert router.plan("gpt-used") is used
    assert router.plan("gpt-4o") is exact
    assert len(router._other_plans) == 8


def test_the_list_of_models_holds_what_can_be_asked_now():
    listed = {entry.id: entry.provider for entry in router_of({"GROQ_API_KEY": ENV["GROQ_API_KEY"]}).models()}
    assert listed == {
        "qwen/qwen3-32b": "groq",
        "llama-3.3-70b-versatile": "groq",
        "llama-3.3-70b": "groq",  # by fallback
        "qwen3:4b": "ollama",
        "groq/qwen/qwen3-32b": "groq",
        "ollama/qwen3:4b": "ollama",
    }


def test_every_listed_model_can_be_asked():
    for env in ({}, ENV, {"CEREBRAS_API_KEY": ENV["CEREBRAS_API_KEY"]}):
        router = router_of(env)
        for entry in router.models():
            assert router.plan(entry.id).targets[0].provider.name == entry.provider


def test_a_route_to_nowhere_is_told_at_the_start():
    with pytest.raises(ConfigError, match="'nowhere'"):
        Router(GatewayConfig(exact={"m": Route((("nowhere", None),))}))


# Patterns


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("gpt-*", "gpt-4", True),
        ("gpt-*", "gpt-", True),
        ("gpt-*", "a-gpt-4", False),
        ("*llama*", "ollama/qwen3:4b", False),
        ("**llama**", "meta-llama/x", True),
        ("meta-llama/*", "meta-llama/x", True),
        ("meta-llama/*", "meta-llama/x/y", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("(a+)+$", "(a+)+$", True),
    ],
)
def test_a_pattern_fits_whole_names(pattern, name, fits):
    assert bool(compile_pattern(pattern)(name)) == fits


@given(st.text(max_size=30))
def test_a_pattern_without_signs_fits_itself_only(name):
    plain = name.replace("*", "").replace("?", "")
    assert compile_pattern(plain)(plain)
    assert not compile_pattern(plain)(f"{plain}x")


# Names of keys


def test_keys_that_a_weak_hash_mixes_up_have_two_names():
    ids = KeyIds(Secret("names-0123456789"))
    assert ids.of("sk-AaAa") != ids.of("sk-BBBB")


def test_a_key_has_one_name_under_one_secret_and_another_under_another():
    assert KeyIds(Secret("a" * 20)).of("k") == KeyIds(Secret("a" * 20)).of("k")
    assert KeyIds(Secret("a" * 20)).of("k") != KeyIds(Secret("b" * 20)).of("k")
    assert KeyIds().of("k") != KeyIds().of("k")


@given(st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=50))
def test_names_of_keys_do_not_collide_and_show_nothing_of_them(keys):
    ids = KeyIds(Secret("names-0123456789"))
    names = [ids.of(key) for key in keys]
    assert len(set(names)) == len(keys)
    assert all(len(name) == 16 and not set(name) - set("0123456789abcdef") for name in names)


def test_an_unknown_model_goes_to_the_only_provider_with_a_key():
    router = router_of({"GROQ_API_KEY": ENV["GROQ_API_KEY"]})
    assert chain(router, "brand-new-model") == [("groq", "brand-new-model")]
    assert chain(router, "maker/brand-new") == [("groq", "maker/brand-new")]
    assert refusal(router, "maker/").code is Code.UNKNOWN_MODEL


def test_an_unknown_model_is_refused_where_two_providers_have_keys_or_none_has():
    for env in ({name: ENV[name] for name in ("GROQ_API_KEY", "OPENAI_API_KEY")}, {}):
        assert refusal(router_of(env), "brand-new-model").code is Code.UNKNOWN_MODEL


def test_embeddings_have_no_default_model_and_no_fallback_to_another_model():
    router = router_of()
    assert chain(router, "text-embedding-3-small", "embeddings") == [("openai", "text-embedding-3-small")]
    assert chain(router, "ollama/nomic-embed", "embeddings") == [("ollama", "nomic-embed")]
    assert "not available by the embeddings API" in refusal(router, "groq/nomic-embed", "embeddings").message
    assert refusal(router, "", "embeddings").code is Code.UNKNOWN_MODEL

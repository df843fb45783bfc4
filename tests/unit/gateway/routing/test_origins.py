"""Endpoints that callers name: nothing but what the operator listed is reached, however a URL is dressed up."""

import asyncio
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ManualClock, Secret
from tickmind.base.problems import ConfigFileError
from tickmind.gateway.http.masking import secrets_of
from tickmind.gateway.refusal import Code, RefusedError
from tickmind.gateway.routing.origins import RESOLVE_TTL_S, Pin, resolve_by_system
from tickmind.gateway.routing.plan import Plan
from tickmind.gateway.routing.router import Router
from tickmind.gateway.settings.addresses import forbidden_kind, special_kind
from tickmind.gateway.settings.base_url import BaseUrlError, parse_base_url
from tickmind.gateway.settings.config import UNKNOWN_LIMITS, GatewayConfig, Provider
from tickmind.gateway.settings.file import load_config

DATA = Path(__file__).parents[3] / "data" / "ssrf"
REFUSED = [json.loads(line) for line in (DATA / "refused.jsonl").read_text(encoding="utf-8").splitlines()]
ALLOWED = [json.loads(line) for line in (DATA / "allowed.jsonl").read_text(encoding="utf-8").splitlines()]
SERVER_KEY = "gsk_the-servers-own-0123456789"
CALLER_KEY = "sk-callers-own-0123456789"
PUBLIC = "93.184.216.34"
LISTED = """
allowed_base_urls: [https://allowed.example/v1, "https://ported.example:8443"]
private_base_urls: ["http://192.168.1.20:8000/v1", "http://lan.example:9000", "http://[fd12:3456::1]:8000"]
providers:
  groq: {headers: {X-Team: "${TEAM_TOKEN}", X-Title: game}}
"""
ENV = {"GROQ_API_KEY": SERVER_KEY, "TEAM_TOKEN": "team-token-0123456789"}


class Names:
    """A name server that says what it is told to, and knows who asked."""

    def __init__(self, answers: Sequence[str] = (PUBLIC,)) -> None:
        self.answers: Sequence[str] | Exception = answers
        self.asked: list[tuple[str, int]] = []
        self.gate: asyncio.Event | None = None

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> GatewayConfig:
    path = tmp_path_factory.mktemp("listed") / "gateway.yaml"
    path.write_text(LISTED)
    return load_config(path, env=ENV)


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def router(config, names, clock) -> Router:
    return Router(config, resolver=names, clock=clock)


def plan(router, url, key=CALLER_KEY, model="m"):
    return asyncio.run(router.custom_plan(url, key, model))


def pin_of(plan: Plan) -> Pin:
    pin = plan.targets[0].pin
    assert pin is not None
    return pin


def addresses_of(plan: Plan) -> tuple[str, ...]:
    """As they are now; they change with each look-up."""
    return pin_of(plan).addresses


def refused(router, url, key=CALLER_KEY):
    with pytest.raises(RefusedError) as caught:
        plan(router, url, key)
    return caught.value.refusal


# The corpus


def test_the_corpus_is_large_and_of_every_kind():
    assert len({(row["url"], tuple(row.get("answers", ()))) for row in REFUSED}) >= 300
    assert {row["kind"] for row in REFUSED} == {"form", "address", "unlisted", "answer"}


def of_kind(*kinds):
    rows = [row for row in REFUSED if row["kind"] in kinds]
    return pytest.mark.parametrize("row", rows, ids=[f"{n}-{row['why']}" for n, row in enumerate(rows)])


@of_kind("form", "address", "unlisted")
def test_what_is_not_listed_is_refused_and_not_even_looked_up(row, router, names):
    assert refused(router, row["url"]).code is Code.FORBIDDEN_URL
    assert names.asked == []


def test_listing_such_a_url_does_not_help_either(tmp_path):
    urls = [row["url"] for row in REFUSED if row["kind"] in ("form", "address") and 0 < len(row["url"]) <= 2000]
    path = tmp_path / "gateway.yaml"
    path.write_text(json.dumps({"allowed_base_urls": urls}), encoding="utf-8")
    with pytest.raises(ConfigFileError) as caught:
        load_config(path, env={})
    assert [problem.path for problem in caught.value.problems] == [("allowed_base_urls", n) for n in range(len(urls))]


@of_kind("answer")
def test_a_listed_name_that_leads_elsewhere_is_refused(row, router, names):
    names.answers = row["answers"]
    refusal = refused(router, row["url"])
    assert refusal.code is Code.FORBIDDEN_URL
    assert not any(answer in refusal.message for answer in row["answers"])


@pytest.mark.parametrize("row", ALLOWED, ids=[f"{n}-{row['url']}" for n, row in enumerate(ALLOWED)])
def test_what_is_listed_is_reached_at_its_checked_addresses(row, router, names):
    names.answers = row["answers"]
    (target,) = plan(router, row["url"]).targets
    pin = target.pin
    assert pin is not None
    assert target.custom
    assert target.provider.base_url == row["becomes"]
    assert target.key.secret.reveal() == CALLER_KEY
    assert list(pin.addresses) == (row["answers"] or [pin.host])
    assert pin.tls == row["url"].startswith("https")
    assert pin.authority in target.provider.base_url


# Whose key goes where


def test_a_provider_that_a_caller_names_gets_the_callers_key_and_not_ours(router, names):
    (target,) = plan(router, "https://api.groq.com/openai/v1").targets
    assert (target.provider.name, target.key.secret.reveal(), target.custom) == ("groq", CALLER_KEY, True)
    assert [key.secret.reveal() for key in target.provider.keys] == [CALLER_KEY]
    assert target.provider.secret_headers == {}
    assert dict(target.provider.headers) == {"X-Title": "game"}
    assert target.provider.fallback == ()
    assert names.asked == []


def test_a_caller_without_a_key_is_not_given_ours(router):
    refusal = refused(router, "https://api.groq.com/openai/v1", key="")
    assert refusal.code is Code.FORBIDDEN_URL
    assert "send your own apiKey" in refusal.message


def test_an_endpoint_that_needs_no_key_gets_none(router):
    (target,) = plan(router, "https://allowed.example/v1", key="").targets
    assert (target.key.secret.reveal(), target.key.id, target.provider.secret_headers) == ("", "none", {})
    assert secrets_of(target) == ()


def test_a_callers_headers_go_with_its_own_lane_and_are_masked(router):
    async def planned(*headers):
        return (await router.custom_plan("https://allowed.example/v1", "", "m", "chat", headers)).targets[0]

    one, two, none = (asyncio.run(planned(*headers)) for headers in ([("api-key", "their-secret-1")], [("x", "y")], []))
    assert len({one.key.id, two.key.id, none.key.id}) == 3
    assert one.headers == (("api-key", Secret("their-secret-1")),)
    assert b"their-secret-1" in secrets_of(one)
    assert b"y" not in secrets_of(two)
    assert "their-secret-1" not in repr(one)


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ([("Host", "evil.example")], "sets this header itself"),
        ([("authorization", "Bearer x")], "apiKey"),
        ([("Content-Length", "0")], "sets this header itself"),
        ([("x y", "z")], "no valid header name"),
        ([("x", "a\r\nHost: evil")], "plain ASCII"),
        ([("x", "é")], "plain ASCII"),
        ([("x", "1"), ("X", "2")], "twice"),
        ([(f"x-{number}", "1") for number in range(17)], "at most 16"),
        ([("x", "y" * 5000)], "4,096"),
    ],
)
def test_headers_that_could_mislead_are_refused(router, headers, words):
    with pytest.raises(RefusedError) as caught:
        asyncio.run(router.custom_plan("https://allowed.example/v1", "", "m", "chat", tuple(headers)))
    assert caught.value.refusal.code is Code.BAD_REQUEST
    assert words in caught.value.refusal.message


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\r\nHost: evil", "x" * 5000, "a\x00b"])
def test_a_key_that_is_none_is_refused(router, key):
    refusal = refused(router, "https://allowed.example/v1", key=key)
    assert refusal.code is Code.BAD_REQUEST
    assert key not in refusal.message


def test_the_servers_key_is_in_no_custom_plan(router):
    for url in ("https://api.groq.com/openai/v1", "https://allowed.example/v1", "http://192.168.1.20:8000/v1"):
        for target in plan(router, url).targets:
            keys = {key.secret.reveal() for key in (target.key, *target.provider.keys)}
            assert keys == {CALLER_KEY}
            assert not target.provider.secret_headers


def test_a_custom_endpoint_gets_careful_limits_and_no_fallback(router):
    (target,) = plan(router, "https://allowed.example/v1").targets
    assert target.provider.limits == UNKNOWN_LIMITS
    assert target.provider.name == "custom:https://allowed.example/v1"


def test_custom_plans_are_shared_by_url_key_and_model(router):
    first = plan(router, "https://allowed.example/v1")
    assert plan(router, "https://allowed.example:443/v1/") is first
    assert plan(router, "https://allowed.example/v1", key="sk-another-0123456789") is not first
    assert plan(router, "https://allowed.example/v1", model="n") is not first


def test_custom_plans_are_bounded_and_the_ones_in_use_stay(config, names):
    router = Router(config, resolver=names, max_custom_plans=4)
    kept = plan(router, "https://allowed.example/v1")
    for number in range(50):
        plan(router, "https://allowed.example/v1", key=f"sk-number-{number:010}")
        assert plan(router, "https://allowed.example/v1") is kept
    assert len(router._custom_plans) == 4


def test_a_provider_is_told_by_its_origin_and_not_by_a_part_of_the_text(router):
    assert refused(router, "http://api.groq.com@127.0.0.1/").code is Code.FORBIDDEN_URL
    assert refused(router, "https://evil.example/?api.groq.com").code is Code.FORBIDDEN_URL


# Looking up and pinning


def test_a_name_is_looked_up_once_and_again_after_a_while(router, names, clock):
    pin = pin_of(plan(router, "https://allowed.example/v1"))
    clock.advance(RESOLVE_TTL_S - 1)
    plan(router, "https://allowed.example/v1/other", key="sk-another-0123456789")
    assert names.asked == [("allowed.example", 443)]
    names.answers = ["93.184.216.35"]
    clock.advance(1)
    assert pin_of(plan(router, "https://allowed.example/v1")) is pin
    assert (len(names.asked), pin.addresses) == (2, ("93.184.216.35",))


def test_a_name_that_moves_into_the_network_is_refused_and_loses_its_addresses(router, names, clock):
    first = plan(router, "https://allowed.example/v1")
    names.answers = ["127.0.0.1"]
    assert addresses_of(first) == (PUBLIC,)  # a second answer changes nothing before it was checked
    clock.advance(RESOLVE_TTL_S)
    assert refused(router, "https://allowed.example/v1").code is Code.FORBIDDEN_URL
    assert addresses_of(first) == ()
    names.answers = [PUBLIC]
    assert plan(router, "https://allowed.example/v1") is first
    assert addresses_of(first) == (PUBLIC,)


@pytest.mark.parametrize("answer", [OSError("no such name"), [], ["not an address"], TimeoutError()])
def test_a_name_that_can_not_be_looked_up_is_down_for_now(router, names, answer):
    names.answers = answer
    refusal = refused(router, "https://allowed.example/v1")
    assert (refusal.code, refusal.retry_after_s) == (Code.PROVIDER_DOWN, 5.0)


@pytest.mark.asyncio
async def test_requests_that_come_together_share_one_look_up(router, names):
    names.gate = asyncio.Event()
    waiting = [
        asyncio.ensure_future(router.custom_plan("https://allowed.example/v1", f"sk-number-{n:010}", "m"))
        for n in range(20)
    ]
    await asyncio.sleep(0)
    waiting[0].cancel()  # its caller went away; the others still get their answer
    names.gate.set()
    done = await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 1
    assert len({id(pin_of(one)) for one in done if not isinstance(one, BaseException)}) == 1
    assert len(names.asked) == 1


@pytest.mark.asyncio
async def test_a_refused_look_up_refuses_all_who_wait(router, names):
    names.gate, names.answers = asyncio.Event(), ["10.0.0.1"]
    waiting = [asyncio.ensure_future(router.custom_plan("https://allowed.example/v1", CALLER_KEY, "m")) for _ in "abc"]
    await asyncio.sleep(0)
    names.gate.set()
    done = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(one, RefusedError) for one in done)


@pytest.mark.asyncio
async def test_the_machines_own_resolver_knows_addresses():
    assert await resolve_by_system("127.0.0.1", 80) == ("127.0.0.1",)


# Rules

NASTY = st.sampled_from(
    [
        "https://",
        "http://",
        "allowed.example",
        "api.groq.com",
        "127.0.0.1",
        "[::1]",
        "localhost",
        "evil.example",
        "/v1",
        "/openai/v1",
        "@",
        ":",
        "443",
        "8443",
        "/",
        "\\",
        "#",
        "?",
        "%",
        "%2e",
        ".",
        "..",
        "0x7f",
        "1",
        "\t",
        " ",
        "。",
    ]
)
OWN_ORIGINS = {("https", "allowed.example", 443), ("https", "ported.example", 8443), ("https", "api.groq.com", 443)}


@settings(max_examples=short_or_long(200, 400), deadline=None)
@given(st.lists(NASTY, min_size=1, max_size=8).map("".join))
@pytest.mark.slow
def test_no_mixture_of_parts_reaches_another_origin(config, url):
    names = Names()
    try:
        (target,) = plan(Router(config, resolver=names), url).targets
    except RefusedError:
        assert names.asked in ([], [("allowed.example", 443)])
        return
    parts = urlsplit(target.provider.base_url)
    assert (parts.scheme, parts.hostname, parts.port or 443) in OWN_ORIGINS
    assert target.key.secret.reveal() == CALLER_KEY


@settings(max_examples=short_or_long(200, 400), deadline=None)
@given(
    st.one_of(st.text(max_size=40), st.lists(NASTY, max_size=8).map("".join), st.from_regex(r"https?://[!-~]{1,30}"))
)
@pytest.mark.slow
def test_what_is_read_means_the_same_to_every_reader(url):
    try:
        read = parse_base_url(url)
    except BaseUrlError:
        return
    theirs = urlsplit(url)
    assert (theirs.scheme, theirs.username, theirs.password, theirs.query, theirs.fragment) == (
        read.scheme,
        None,
        None,
        "",
        "",
    )
    host = theirs.hostname or ""
    assert host == read.host or ipaddress.ip_address(host) == read.address
    assert (theirs.port or (443 if read.scheme == "https" else 80)) == read.port
    assert theirs.path.rstrip("/") == read.path
    assert parse_base_url(str(read)) == read


@settings(max_examples=short_or_long(250, 500))
@given(st.ip_addresses())
@pytest.mark.slow
def test_an_address_that_passes_is_public_by_pythons_table_too(address):
    if not special_kind(address):
        assert address.is_global
        assert not address.is_multicast


@settings(max_examples=short_or_long(150, 300))
@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "::{}", "64:ff9b::{}", "::ffff:0:{}"]))
@pytest.mark.slow
def test_no_ipv4_address_passes_in_the_clothes_of_ipv6(address, form):
    assert forbidden_kind(ipaddress.IPv6Address(form.format(address)), private=True) or str(address) == "0.0.0.1"
    assert forbidden_kind(ipaddress.IPv6Address(form.format(address)), private=False)


def test_a_public_address_may_be_dialled():
    for text in ("1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"):
        assert forbidden_kind(ipaddress.ip_address(text), private=False) == ""


def test_a_provider_that_is_not_public_is_the_operators_choice(names):
    provider = Provider("lan", "http://10.0.0.5:8000/v1")
    router = Router(GatewayConfig(providers={"lan": provider}, key_id_secret=Secret("x")), resolver=names)
    assert plan(router, "http://10.0.0.5:8000/v1").targets[0].provider.name == "lan"


@pytest.mark.parametrize(("key", "is_masked"), [("none", False), ("ollama", False), ("k", False), ("sk-1234567", True)])
def test_a_key_that_may_be_an_ordinary_word_is_not_masked_in_replies(router, key, is_masked):
    """Local models take any key, and `none` in a reply is no secret."""
    (target,) = plan(router, "https://allowed.example/v1", key=key).targets
    assert (key.encode() in secrets_of(target)) is is_masked

"""The pools of callers' own keys: bounded, and apart from those of the gateway's keys."""

import asyncio

import pytest

from tickmind.base import Secret
from tickmind.gateway.http import upstreams as module
from tickmind.gateway.http.upstreams import Upstreams
from tickmind.gateway.routing.router import Router
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Provider, WireConfig
from tickmind.gateway.settings.key_ids import KeyIds

URL = "http://127.0.0.1:9/v1"
OWN_KEY = "sk-the-gateways-own-0123456789"
TEAM = "team-token-0123456789"


class Deaf:
    """Hears how a request went, and does not care."""

    def __getattr__(self, name):
        return lambda *_: None


@pytest.fixture
def router() -> Router:
    names = Secret("names-0123456789")
    key = ApiKey(KeyIds(names).of(OWN_KEY), Secret(OWN_KEY))
    provider = Provider("p", URL, keys=(key,), secret_headers={"X-Team": Secret(TEAM)})
    return Router(GatewayConfig(providers={"p": provider}, key_id_secret=names))


def heads(upstreams: Upstreams) -> list[bytes]:
    return [way.heads["chat"] for way in upstreams._routes.values()]


@pytest.mark.asyncio
async def test_keys_that_callers_bring_to_a_providers_own_url_do_not_pile_up(router, monkeypatch):
    monkeypatch.setattr(module, "MAX_POOLS", 4)
    upstreams = Upstreams(WireConfig(), asyncio.get_running_loop())
    upstreams.route_to(router.plan("p/m").targets[0]).send("chat", b"{}", Deaf())
    for number in range(50):
        plan = await router.custom_plan(URL, f"sk-number-{number:010}", "m")
        upstreams.route_to(plan.targets[0]).send("chat", b"{}", Deaf())
    assert len(upstreams._routes) == 4
    assert any(OWN_KEY.encode() in head for head in heads(upstreams))
    upstreams.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("callers_first", [True, False])
async def test_a_caller_who_knows_our_key_does_not_get_our_other_secrets_sent(router, callers_first):
    upstreams = Upstreams(WireConfig(), asyncio.get_running_loop())
    own = router.plan("p/m").targets[0]
    theirs = (await router.custom_plan(URL, OWN_KEY, "m")).targets[0]
    for target in (theirs, own) if callers_first else (own, theirs):
        upstreams.route_to(target).send("chat", b"{}", Deaf())
    assert sorted(TEAM.encode() in head for head in heads(upstreams)) == [False, True]
    upstreams.close()

"""Every path of the gateway with every credential that is none: no key, a wrong, a withdrawn, another caller's."""

from typing import Any

import pytest
from tests.integration.gateway.conftest import CANARY

from tickmind.gateway.fairness.caller_keys import hash_key, new_key
from tickmind.gateway.settings.config import Caller

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
ADA, BOB, ADMIN, WITHDRAWN = (new_key() for _ in range(4))
GAME = "the-same-game"
OPEN = {"/", "/healthz", "/openapi.json", "/dashboard/*"}  # the page itself, and what says nothing of any caller
CHAT = {"model": "m", "messages": [{"role": "user", "content": "A dragon!"}]}
CALLS: dict[tuple[str, str], Any] = {  # what needs a key: method and path -> what to ask with
    ("POST", "/v1/chat/completions"): CHAT,
    ("POST", "/v1/responses"): {"model": "m", "input": "A dragon!"},
    ("POST", "/v1/embeddings"): {"model": "m", "input": "A dragon!"},
    ("GET", "/v1/models"): None,
    ("GET", "/v1/models/*"): None,
    ("POST", "/api/llm/generate"): {"agentId": "villager", "prompt": "A dragon!"},
    ("POST", "/api/llm/heartbeat"): {"sessionId": GAME},
    ("POST", "/api/llm/defer"): {"sessionId": GAME, "agentId": "villager", "durationMs": 60_000},
    ("GET", "/api/llm/stats"): None,
    ("GET", "/api/llm/sessions"): None,
    ("GET", "/api/llm/costs"): None,
    ("GET", "/api/llm/overview"): None,
    ("GET", "/metrics"): None,
}
WRONG = {
    "none": {},
    "empty": {"Authorization": "Bearer "},
    "wrong": {"Authorization": f"Bearer {new_key()}"},
    "cut short": {"Authorization": f"Bearer {ADA[:-1]}"},
    "longer": {"Authorization": f"Bearer {ADA}x"},
    "another scheme": {"Authorization": f"Basic {ADA}"},
    "another header": {"X_Authorization": f"Bearer {ADA}"},
    "two": {"Authorization": f"Bearer {ADA} {ADA}"},
    "its hash": {"Authorization": f"Bearer {hash_key(ADA)}"},
    "withdrawn": {"Authorization": f"Bearer {WITHDRAWN}"},
    "a provider's": {"Authorization": f"Bearer {CANARY}-one"},
}
CALLERS = (
    Caller("ada", hash_key(ADA)),
    Caller("bob", hash_key(BOB)),
    Caller("admin", hash_key(ADMIN), admin=True),
)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def usual(call):
    """The status for a caller with its key: no metrics, and no provider of this house has embeddings."""
    return {"/metrics": 403, "/v1/embeddings": 404}.get(call[1], 200)


async def ask(house, call, headers):
    method, path = call
    return await house.ask(path.replace("*", "m"), CALLS[call], method=method, **headers)


async def test_the_table_names_every_path_that_needs_a_key(housing):
    async with housing(settings={"callers": CALLERS}) as house:
        table = house.server._routes._table
        served = {(method.decode(), path.decode()) for path, methods in table.items() for method in methods}
        free = {(method, path) for method, path in served if path in OPEN or path.startswith("/dashboard/")}
        assert served - free == set(CALLS)


@pytest.mark.parametrize("kind", WRONG)
async def test_no_path_is_answered_without_a_key_of_the_gateway(housing, kind):
    async with housing(settings={"callers": CALLERS}) as house:
        for call in CALLS:
            reply = await ask(house, call, WRONG[kind])
            assert reply.status == 401, (call, reply)
            assert len(reply.body) < 1000
            assert ADA.encode() not in reply.body
        assert house.providers["one"].seen == []
        assert len(house.gateway.sessions) == 0


async def test_with_its_key_a_caller_may_do_all_of_it_but_see_the_metrics(housing):
    """Else the refusals above would prove nothing."""
    async with housing(settings={"callers": CALLERS}) as house:
        for call in CALLS:
            reply = await ask(house, call, bearer(ADA))
            assert reply.status == usual(call), (call, reply)
        assert (await ask(house, ("GET", "/metrics"), bearer(ADMIN))).status == 200


async def test_a_key_that_is_withdrawn_is_worth_nothing_at_the_next_start(housing):
    for callers, status in (((Caller("old", hash_key(WITHDRAWN)), *CALLERS), 200), (CALLERS, 401)):
        async with housing(settings={"callers": callers}) as house:
            for call in CALLS:
                if usual(call) == 200:
                    assert (await ask(house, call, bearer(WITHDRAWN))).status == status, call


async def test_another_callers_key_reaches_nothing_of_the_first_one(housing):
    async with housing(settings={"callers": CALLERS}) as house:
        for key, name in ((ADA, "ada"), (BOB, "bob")):
            for call in CALLS:
                reply = await ask(house, call, {**bearer(key), "X_Tickmind_Session": GAME})
                assert reply.status == usual(call), (call, reply)
            shown = {
                path: (await house.get(path, **bearer(key))).body
                for path in ("/api/llm/sessions", "/api/llm/costs", "/api/llm/stats", "/api/llm/overview")
            }
            other = {"ada": b'"bob"', "bob": b'"ada"'}[name]
            assert [path for path, body in shown.items() if other in body] == []
        everybody = (await house.get("/api/llm/sessions", **bearer(ADMIN))).json["sessions"]
        assert {(one["owner"], one["sessionId"]) for one in everybody} >= {("ada", GAME), ("bob", GAME)}


async def test_who_defers_under_anothers_session_holds_up_nobody_but_itself(housing):
    async with housing(settings={"callers": CALLERS}) as house:
        held = {"sessionId": GAME, "agentId": "villager", "durationMs": 3_600_000}
        assert (await house.ask("/api/llm/defer", held, **bearer(BOB))).status == 200
        asked = {"sessionId": GAME, "agentId": "villager", "prompt": "A dragon!"}
        assert (await house.ask("/api/llm/generate", asked, **bearer(ADA))).status == 200


async def test_a_login_shows_figures_and_asks_no_model(housing):
    settings = {"callers": CALLERS, "allowed_origins": ("http://localhost:3000",)}
    async with housing(settings=settings) as house:
        logins = {}
        for key in (ADA, ADMIN):
            reply = await house.ask("/dashboard/login", {"key": key}, Content_Type="application/json")
            assert reply.status == 204
            logins[key] = {"Cookie": reply.headers["set-cookie"].split(";")[0]}
        for call in CALLS:
            shows = call[0] == "GET" and call[1].startswith("/api/llm/")
            expected = 200 if shows else 403 if call[1] == "/metrics" else 401
            assert (await ask(house, call, logins[ADA])).status == expected, call
        assert (await ask(house, ("GET", "/metrics"), logins[ADMIN])).status == 200
        await house.chat(headers=bearer(BOB))
        assert (await house.get("/api/llm/overview", **logins[ADA])).json["sessions"] == []
        assert len((await house.get("/api/llm/overview", **logins[ADMIN])).json["sessions"]) == 1
        # A page that may use the gateway with a key, but is not the gateway's own, gets nothing by the login.
        game = {**logins[ADMIN], "Origin": "http://localhost:3000"}
        assert (await house.get("/api/llm/overview", **game)).status == 401
        assert (await house.ask("/dashboard/login", {"key": "x"}, Origin="http://localhost:3000")).status == 403
        await house.ask("/dashboard/logout", {}, **logins[ADMIN])
        assert (await house.get("/api/llm/overview", **logins[ADMIN])).status == 401


async def test_behind_a_proxy_the_operator_logs_in_at_the_address_that_is_allowed(housing):
    """The proxy asks for the gateway's own name, as the gateway of one machine answers to no other."""
    public = {"Origin": "https://gateway.example", "Sec-Fetch-Site": "same-origin"}
    game = {"Origin": "https://game.example", "Sec-Fetch-Site": "cross-site"}
    settings = {"callers": CALLERS, "allowed_origins": (public["Origin"], game["Origin"])}
    key = {"key": ADMIN}
    async with housing(settings=settings) as house:
        reply = await house.ask("/dashboard/login", key, Content_Type="application/json", **public)
        assert (reply.status, "; Secure" in reply.headers["set-cookie"]) == (204, True)
        cookie = {"Cookie": reply.headers["set-cookie"].split(";")[0]}
        assert (await house.get("/metrics", **cookie, **{"Sec-Fetch-Site": "same-origin"})).status == 200
        assert (await house.ask("/dashboard/login", key, Content_Type="application/json", **game)).status == 403
        assert (await house.get("/metrics", **cookie, **game)).status == 401
        unlisted = {**public, "Origin": "https://evil.example"}
        assert (await house.ask("/dashboard/login", key, Content_Type="application/json", **unlisted)).status == 403

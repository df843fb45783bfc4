"""Pages in a browser with an official client: what its preflight asks for passes, and replies can be read."""

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio
PAGE = "http://localhost:3000"
OPEN = {"allowed_origins": (PAGE,)}
# As the official JavaScript client sends them from a page.
ASKED = (
    "authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-package-version,"
    "x-stainless-retry-count,x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout"
)


async def preflight(house: Any, asked: str) -> set[str]:
    headers = {"access_control_request_method": "POST", "access_control_request_headers": asked}
    reply = await house.ask("/v1/chat/completions", method="OPTIONS", origin=PAGE, **headers)
    assert reply.status == 204
    return {name.strip() for name in reply.headers["access-control-allow-headers"].split(",")}


async def test_what_an_official_client_sends_passes_preflight(housing: Any) -> None:
    async with housing(one=(), settings=OPEN) as house:
        assert set(ASKED.split(",")) <= await preflight(house, ASKED)
        assert {"x-stainless-new-thing", "x-tickmind-session"} <= await preflight(house, "X-Stainless-New-Thing")


async def test_other_headers_do_not_pass_preflight(housing: Any) -> None:
    async with housing(one=(), settings=OPEN) as house:
        allowed = await preflight(house, "cookie, x-evil, x-stainless-, x-stainless-a\tb," + "x-stainless-a," * 1000)
        assert not {"cookie", "x-evil", "x-stainless-", "*"} & allowed
        assert len(allowed) < 20


@pytest.mark.parametrize("status", [200, 404])
async def test_a_page_may_read_what_replies_and_refusals_say_beside_their_bodies(housing: Any, status: int) -> None:
    async with housing(one=["Run!"], two=(), settings=OPEN) as house:
        reply = await house.chat(model="m" if status == 200 else "unheard-of", headers={"origin": PAGE})
        assert reply.status == status
        shown = {name.strip() for name in reply.headers["access-control-expose-headers"].split(",")}
        assert {name for name in reply.headers if name.startswith("x-tickmind-")} <= shown
        assert {"retry-after", "x-should-retry", "x-tickmind-cooldown", "x-tickmind-shared"} <= shown
        assert "access-control-expose-headers" not in (await house.chat()).headers

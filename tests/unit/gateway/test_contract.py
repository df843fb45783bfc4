"""What a client lets through a gateway takes, and the other way round: both go by one contract."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tickmind.gateway
from tickmind.gateway.call_options import read_call_options
from tickmind.gateway.fairness.sessions import check_session_id
from tickmind.gateway.refusal import RefusedError
from tickmind.gateway.surface.openapi import openapi
from tickmind.llm import LLMConfigError
from tickmind.llm.gateway_client import gateway_call
from tickmind.llm.gateway_client.calls import checked_session, millis
from tickmind.llm.gateway_contract import AGENT_HEADER, MAX_MS, MAX_NAME_CHARS, REQUEST_HEADERS, STATUS_OF, Code

LONGEST = int(MAX_NAME_CHARS.maximum)
SOURCES = Path(tickmind.gateway.__file__).parent


def is_taken(take, *given):
    try:
        take(*given)
    except (LLMConfigError, RefusedError):
        return False
    return True


@pytest.mark.parametrize("length", [1, LONGEST, LONGEST + 1, 200])
def test_names_have_the_same_length_on_both_sides(length):
    name = "x" * length
    taken = length <= LONGEST
    assert is_taken(checked_session, name) is is_taken(check_session_id, name) is taken
    assert is_taken(lambda: gateway_call(agent=name)) is taken
    assert is_taken(read_call_options, {AGENT_HEADER.encode(): name.encode()}) is taken


@given(st.text(max_size=20))
@example("two words")
@example("a\n")
@example("-a")
def test_a_session_is_good_on_both_sides_or_on_none(name):
    assert is_taken(checked_session, name) is is_taken(check_session_id, name)


@given(st.text(max_size=20))
def test_whatever_agent_a_client_names_the_gateway_takes(name):
    if name and is_taken(lambda: gateway_call(agent=name)):
        call = gateway_call(agent=name, priority="low", replace_older=True, drop_after_s=1e12)
        call_options = read_call_options({key.encode(): str(value).encode() for key, value in call.headers.items()})
        assert (call_options.agent, call_options.replace_older, call_options.drop_after_s) == (
            name,
            True,
            MAX_MS / 1000,
        )


def test_a_duration_fits_into_its_header():
    assert millis("timeout_s", 1e300) == MAX_MS


def test_every_header_that_a_gateway_reads_is_in_its_document():
    said = str(openapi("1", keys=False))
    assert [header for header in REQUEST_HEADERS if f"'{header}'" not in said] == []


def test_a_page_may_send_every_header_that_a_gateway_reads():
    routes = (SOURCES / "surface" / "routes.py").read_text()
    assert [header for header in REQUEST_HEADERS if header not in routes] == []


def test_every_code_has_a_status():
    assert set(STATUS_OF) == set(Code)


def test_headers_are_written_out_in_the_contract_and_for_browsers_alone():
    named = {
        str(path.relative_to(SOURCES.parent))
        for folder in (SOURCES, SOURCES.parent / "llm")
        for path in folder.rglob("*.py")
        if re.search(r"[\"' ]x-tickmind-[a-z]", path.read_text())
    }
    assert named == {"llm/gateway_contract.py", "gateway/surface/routes.py"}

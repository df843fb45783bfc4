"""The official client reads a recorded run, and can change nothing in it."""

import json
from typing import Any

import pytest
from mcp import Client
from tests.kits.item_world import record_script

from tickmind.adapters.mcp.run_server import RecordedRun, run_server

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return record_script(tmp_path_factory.mktemp("runs"))[0]


@pytest.fixture
def recorded(store):
    run = RecordedRun(store, "items")
    yield run
    run.close()


def text_of(result: Any) -> str:
    """The words of an answer."""
    return str(result.content[0].text)


async def read(client: Any, name: str) -> str:
    return str((await client.read_resource(name)).contents[0].text)


async def ask(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_resources_tell_what_a_run_was(recorded):
    async with Client(run_server(recorded)) as client:
        names = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert names == {"run://meta", "run://story", "run://measures", "run://tables"}
        texts = {name: await read(client, name) for name in sorted(names)}
    assert json.loads(texts["run://meta"])["run_id"] == "items"
    assert "items" in texts["run://story"]
    assert isinstance(json.loads(texts["run://measures"]), list)
    assert "utterances" in json.loads(texts["run://tables"])


async def test_events_and_thoughts_of_some_ticks_are_answered(recorded):
    async with Client(run_server(recorded)) as client:
        spoken = await ask(client, "events", first=1, last=3, actor="entity:3")
        assert "hello" in json.dumps(spoken["events"])
        assert {event["tick"] for event in spoken["events"]} <= {1, 2, 3}
        assert (await ask(client, "thoughts", actor="entity:1"))["thoughts"] == []
        wrong = await client.call_tool("events", {"first": 5, "last": 1})
        assert wrong.is_error
        assert "swap them" in text_of(wrong)


async def test_queries_only_read_and_only_the_run(recorded, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    async with Client(run_server(recorded)) as client:
        rows = await ask(client, "query", sql="SELECT actor_id, text FROM utterances")
        assert rows == {"columns": ["actor_id", "text"], "rows": [["entity:3", "hello"]], "more": False}
        many = await ask(client, "query", sql="SELECT * FROM range(5000)")
        assert (len(many["rows"]), many["more"]) == (1000, True)
        for sql, words in (
            ("DROP VIEW utterances", "give one SELECT"),
            ("SELECT 1; SELECT 2", "give one SELECT"),
            (f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')", "the query fails"),
            (f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'", "give one SELECT"),
            ("SET memory_limit = '100GB'", "give one SELECT"),
            ("SELECT nothing FROM utterances", "the query fails"),
        ):
            refused = await client.call_tool("query", {"sql": sql})
            assert refused.is_error, sql
            assert words in text_of(refused), sql
    assert not (tmp_path / "out.csv").exists()

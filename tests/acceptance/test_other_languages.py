"""The guide to agents in any language shows agents that the tests run (`test_conformance`), and a mapping for one."""

from tests.acceptance.test_documents import BLOCKS, ROOT

from tickmind.runner import load_mapping

GUIDES = ROOT / "docs" / "guides"


def blocks(language, page="other-languages"):
    return [block.text for block in BLOCKS[GUIDES / f"{page}.md"] if block.language == language]


def test_the_agents_of_the_guide_are_the_examples():
    assert blocks("js")[0] == (ROOT / "examples" / "node" / "agent.mjs").read_text(encoding="utf-8")
    assert blocks("go", "agent-in-go") == [(ROOT / "examples" / "go" / "agent.go").read_text(encoding="utf-8")]
    assert blocks("python3", "agent-in-anything") == [
        (ROOT / "examples" / "plain" / "agent.py").read_text(encoding="utf-8")
    ]


def test_the_mapping_of_the_guide_names_the_socket_of_the_world(tmp_path):
    (text,) = blocks("yaml")
    file = tmp_path / "agents.yaml"
    file.write_text(text)
    mapping = load_mapping(file)
    assert mapping.world_ws_url == "ws://127.0.0.1:8701/ws/v1"
    assert mapping.agents["walker"].cmd == ("node", "examples/node/agent.mjs")

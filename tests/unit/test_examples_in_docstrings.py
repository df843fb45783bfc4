"""Examples in docstrings are run; those that need a world, a model or a disk are at least Python."""

import ast
import doctest
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
FILES = [file for file in sorted(SRC.rglob("*.py")) if "v1" not in file.parts]
WITH_EXAMPLES = [
    ".".join(file.relative_to(SRC).with_suffix("").parts)
    for file in FILES
    if re.search(r"^ *>>> ", file.read_text(encoding="utf-8"), re.MULTILINE)
]
RUN = doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_TRUE_FOR_1
BLOCK = re.compile(r"(?:^ {4}.*\n?(?:^ *\n)*)+", re.MULTILINE)
AT_MARGIN = re.compile(r"\n\n(?:async with |with |\w+ = )")  # where nothing but the example follows the first line

# The classes that users meet first: package -> names, each with an example in its docstring.
MET_FIRST = {
    "tickmind.adapters.websocket": ["WebSocketServer"],
    "tickmind.agent": ["Character", "Settings"],
    "tickmind.ai": ["AIManager", "Blackboard", "BoardManager", "Machine", "Selector"],
    "tickmind.base": ["IdMaker", "Limit", "ManualClock", "Secret"],
    "tickmind.gateway": ["GatewayServer"],
    "tickmind.llm": [
        "Message",
        "ModelClient",
        "Price",
        "ReplySchema",
        "SyncModelClient",
        "ThinkSplitter",
        "UsageMeter",
    ],
    "tickmind.llm.testing": ["FakeProvider", "FaultyTransport", "ScriptedTransport"],
    "tickmind.mind.memory": ["Memory"],
    "tickmind.protocol": ["CalendarInfo", "Direction"],
    "tickmind.record": ["RunStore"],
    "tickmind.runner": ["Match", "Runner"],
    "tickmind.server": ["Leases", "WorldServer"],
    "tickmind.strategy": ["LLMAgent", "LLMManager", "MockClient"],
    "tickmind.tick": ["AnyOf", "BlueprintRegistry", "Engine", "SignalBus", "World"],
    "tickmind.tools": ["AgentHub", "ToolAgent", "ToolRegistry"],
    "tickmind.wire": ["Backoff", "SyncWorldClient", "ViewFilter", "WorldClient"],
    "tickmind.world": ["CopiedWorld", "RuleTick", "TileWorld"],
}


def has_example(thing):
    """Whether a docstring has an example: a session of Python, or a block behind the first paragraph."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return ">>> " in text or BLOCK.search(text) is not None or AT_MARGIN.search(text) is not None


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_an_example_gives_what_it_says(module):
    outcome = doctest.testmod(importlib.import_module(module), optionflags=RUN)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("package", MET_FIRST)
def test_the_classes_that_users_meet_first_have_an_example(package):
    module = importlib.import_module(package)
    assert [name for name in MET_FIRST[package] if not has_example(getattr(module, name))] == []


def blocks_of(file):
    """The indented blocks in the docstrings of a file's public classes, without those that are run."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for block in BLOCK.findall(ast.get_docstring(node) or ""):
                if ">>> " not in block:
                    yield node.name, textwrap.dedent(block)


def test_an_example_that_is_not_run_is_python():
    for file in FILES:
        for name, block in blocks_of(file):
            try:
                compile(block, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            except SyntaxError as error:
                pytest.fail(f"{file.name}: the example of {name} is no Python: {error}")

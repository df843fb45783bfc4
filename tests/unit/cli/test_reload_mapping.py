"""What the command says when a mapping has changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from tickmind.cli.runner.commands import reload_mapping
from tickmind.runner import Moves

AN_AGENT: Any = SimpleNamespace()
ROWS = [
    (None, []),
    (Moves(), ["The mapping was reloaded: all agents go on as they are."]),
    (Moves(stop=(AN_AGENT,)), ["The mapping was reloaded: 1 agents stop, 0 start."]),
]


@pytest.mark.parametrize(("moves", "says"), ROWS, ids=["unchanged", "remark", "agents"])
def test_a_reload_says_what_it_does_to_the_agents(moves, says):
    said: list[str] = []
    file: Any = SimpleNamespace(reload=lambda even_if_same: None if moves is None else object())
    runner: Any = SimpleNamespace(reload=lambda _: moves)
    reload_mapping(runner, file, said.append)
    assert said == says

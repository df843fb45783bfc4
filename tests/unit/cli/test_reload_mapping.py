"""What the command says when a mapping has changed."""

from types import SimpleNamespace

import pytest

from tickmind.cli.runner.commands import reload_mapping
from tickmind.runner import Moves

ROWS = [
    (None, []),
    (Moves(), ["The mapping was reloaded: all agents go on as they are."]),
    (Moves(stop=(SimpleNamespace(),)), ["The mapping was reloaded: 1 agents stop, 0 start."]),
]


@pytest.mark.parametrize(("moves", "says"), ROWS, ids=["unchanged", "remark", "agents"])
def test_a_reload_says_what_it_does_to_the_agents(moves, says):
    said = []
    file = SimpleNamespace(reload=lambda even_if_same: None if moves is None else object())
    reload_mapping(SimpleNamespace(reload=lambda _: moves), file, said.append)
    assert said == says

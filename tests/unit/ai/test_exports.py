import re
from pathlib import Path

import pytest

import tickmind.ai
import tickmind.tick


@pytest.mark.parametrize("package", [tickmind.ai, tickmind.tick])
def test_the_types_in_public_signatures_are_exported(package):
    aliases = set()
    for file in Path(str(package.__file__)).parent.glob("*.py"):
        aliases.update(re.findall(r"^([A-Z]\w*)(?:: TypeAlias)? = Callable\[", file.read_text(), re.MULTILINE))
    inner = {"Run", "Halt", "ScoreFn"}  # of the compiled functions, which no user calls
    assert aliases
    assert aliases - inner <= set(package.__all__)
    if package is tickmind.ai:
        assert {"Argument", "BoardInfo", "BoardView", "Machine"} <= set(package.__all__)

"""The package of doubles: what it offers, and what importing it costs."""

import subprocess
import sys

import tickmind.llm.testing


def test_everything_offered_is_there() -> None:
    assert tickmind.llm.testing.__all__ == sorted(
        tickmind.llm.testing.__all__, key=lambda name: (name[0].islower(), name)
    )
    for name in tickmind.llm.testing.__all__:
        assert hasattr(tickmind.llm.testing, name)


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, tickmind.llm.testing, tickmind.llm.cassettes.cassette;"
        "heavy = {'aiohttp', 'jsonschema', 'pydantic', 'openai', 'yaml', 'referencing'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"

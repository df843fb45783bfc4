"""What environments need is imported when one is made, and missing packages are named with their extra."""

import importlib.util
import subprocess
import sys

import pytest

from tickmind.adapters.pettingzoo import parallel_env
from tickmind.base import ConfigError


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in {"pettingzoo", "numba"} else found(name)
    )
    with pytest.raises(ConfigError, match=r"numba, pettingzoo: pip install 'tickmind\[learn,world\]'"):
        parallel_env("clearing")


@pytest.mark.slow
def test_neither_tickmind_nor_its_commands_import_what_only_learners_need():
    code = (
        "import sys, tickmind, tickmind.cli.app, tickmind.adapters.pettingzoo; "
        "print([name for name in ('gymnasium', 'pettingzoo', 'numpy', 'numba') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"

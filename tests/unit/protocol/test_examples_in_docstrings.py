"""Examples in docstrings are run."""

import doctest

import pytest

from tickmind.protocol import setting


@pytest.mark.parametrize("module", [setting], ids=lambda module: module.__name__)
def test_examples_are_true(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0

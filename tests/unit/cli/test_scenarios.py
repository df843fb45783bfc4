"""Ids of runs."""

import pytest

from tickmind.cli.world.scenarios import new_run_id
from tickmind.record.run_id import check_run_id


@pytest.mark.parametrize("name", ["clearing", "my village (2)", "Über-Dorf", "..", "x" * 300, "-_-", "a/b"])
def test_whatever_a_scenario_is_called_its_run_has_a_name(name):
    assert check_run_id(new_run_id(name)).rpartition("-")[2].isdigit()

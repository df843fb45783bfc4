"""Ids of runs."""

import pytest

from tickmind.cli.world.scenarios import new_run_id
from tickmind.record.run_id import check_run_id


@pytest.mark.parametrize("name", ["clearing", "my village (2)", "Über-Dorf", "..", "x" * 300, "-_-", "a/b"])
def test_whatever_a_scenario_is_called_its_run_has_a_name(name):
    assert check_run_id(new_run_id(name)).rpartition("-")[2].isdigit()


def test_runs_that_begin_in_the_same_second_have_ids_of_their_own():
    taken: list[str] = []
    for _ in range(50):
        taken.append(new_run_id("nook", taken))
    assert len(set(taken)) == 50
    assert all(check_run_id(run_id) for run_id in taken)

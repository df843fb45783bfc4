"""The tests of what must never fail find nearly every small fault that is planted there."""

import ast
import json
import os
import subprocess
import sys

import pytest
from tests.long import LONG
from tests.mutation.mutants import ROOT, mutants_of, mutated, source_of
from tests.mutation.run import plant
from tests.mutation.targets import TARGETS

from tickmind.base import ManualClock
from tickmind.server.control.leases import Leases
from tickmind.wire.messages.frames import Closed

LONGEST_S = 3600
MODULES = sorted(module for target in TARGETS.values() for module in target.modules)


def run(name, report, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation.run", name, "--report", str(report), *arguments],
        cwd=ROOT,
        env={**os.environ, "LONG": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text())


@pytest.mark.parametrize("module", MODULES)
def test_every_mutant_is_code_and_differs_from_the_module(module):
    whole = ast.dump(ast.parse(source_of(module).read_text()))
    mutants = mutants_of(module)
    assert len(mutants) > 10
    for mutant in mutants[:: max(1, len(mutants) // 10)]:
        tree = mutated(module, mutant.number)
        compile(tree, "mutant", "exec")
        assert ast.dump(tree) != whole, mutant


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_every_fault_that_changes_nothing_is_one_that_is_planted(name):
    target = TARGETS[name]
    planted = {f"{module.rpartition('.')[2]}: {one.name}" for module in target.modules for one in mutants_of(module)}
    assert target.equivalent.keys() <= planted


def test_a_planted_fault_is_in_the_functions_that_are_there_already():
    before = Leases.acquire.__code__
    clock = ManualClock()
    leases = Leases(("entity:1",), clock=clock)
    leases.acquire(0, "me")
    clock.advance(11)
    fault = next(one for one in mutants_of("tickmind.server.control.leases") if one.what == "without self.expire()")
    try:
        plant(fault)
        assert isinstance(leases.acquire(0, "other"), Closed)
    finally:
        Leases.acquire.__code__ = before
    assert not isinstance(leases.acquire(0, "other"), Closed)


if LONG:  # it takes most of an hour

    @pytest.mark.slow
    def test_a_planted_fault_is_found_and_one_that_changes_nothing_is_not(tmp_path):
        found = run("leases", tmp_path / "found", "--only", "without self.expire()")
        assert (found["tried"], found["survivors"]) == (2, [])
        harmless = run("leases", tmp_path / "harmless", "--only", "in self._next_number = 0")
        assert (harmless["tried"], harmless["equivalent"]) == (0, 1)

    @pytest.mark.slow
    @pytest.mark.timeout(LONGEST_S)
    @pytest.mark.parametrize("name", sorted(TARGETS))
    def test_nearly_every_planted_fault_is_found(name, tmp_path):
        outcome = run(name, tmp_path / "report")
        assert outcome["rate"] >= TARGETS[name].least_found, "\n".join(outcome["survivors"])

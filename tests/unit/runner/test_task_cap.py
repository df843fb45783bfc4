"""Where the kernel itself holds the number of tasks of an agent, and what it is told."""

import resource

import pytest

from tickmind.cli import doctor
from tickmind.runner import Isolation, Warden
from tickmind.runner.warden import isolation as module
from tickmind.runner.warden.isolation import can_cap_tasks, cap_tasks

NAMESPACE, USER_NAMESPACE, SUBREAPER = Isolation
OLD, NEW = (6, 13), (6, 14)
CASES = [
    (NAMESPACE, NEW, 0, "pid_max"),
    (NAMESPACE, OLD, 0, ""),
    (USER_NAMESPACE, NEW, 1000, "pid_max"),
    (USER_NAMESPACE, OLD, 1000, "nproc"),
    (USER_NAMESPACE, OLD, 0, ""),
    (SUBREAPER, NEW, 0, ""),
    (SUBREAPER, NEW, 1000, "nproc"),
]


@pytest.fixture
def told(monkeypatch, tmp_path):
    """What the kernel is told, on a machine of a certain kind: `told(kernel, user)` -> what was set."""
    found: dict[str, int] = {}

    class PidMax:
        def write_text(self, text, encoding):
            found["pid_max"] = int(text)

    def setrlimit(kind, limits):
        assert kind == resource.RLIMIT_NPROC
        assert limits[0] == limits[1]
        found["nproc"] = limits[0]

    def machine(kernel, user):
        monkeypatch.setattr(module, "_kernel", lambda: kernel)
        monkeypatch.setattr(module, "_PID_MAX", PidMax())
        monkeypatch.setattr(module, "_tasks_of_user", lambda: 70)
        monkeypatch.setattr("os.getuid", lambda: user)
        monkeypatch.setattr("resource.setrlimit", setrlimit)
        return found

    return machine


@pytest.mark.parametrize(("isolation", "kernel", "user", "by"), CASES)
def test_the_number_of_tasks_is_held_where_it_is_said_to_be(told, isolation, kernel, user, by):
    found = told(kernel, user)
    assert can_cap_tasks(isolation) is bool(by)
    cap_tasks(isolation, 32)
    others = 70 if isolation is SUBREAPER else 0
    assert found == ({by: 16 * 32 + others} if by else {})


def test_a_kernel_that_takes_no_less_is_told_no_less(told):
    found = told(NEW, 0)
    cap_tasks(NAMESPACE, 2)
    assert found == {"pid_max": 301}


@pytest.mark.parametrize(("isolation", "kernel", "user", "by"), CASES)
def test_the_doctor_says_whether_a_fork_bomb_is_held(told, monkeypatch, isolation, kernel, user, by):
    class Kept(Warden):
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_exc):
            pass

        async def isolation(self):
            return isolation

    monkeypatch.setattr("tickmind.runner.Warden", Kept)
    told(kernel, user)
    finding = doctor.agents()
    assert ("the kernel limits it to 16 tasks" in finding.text) is bool(by)
    assert ("nothing limits a fork bomb" in finding.text) is not bool(by)
    assert (finding.verdict is doctor.Severity.GOOD) is (bool(by) and isolation is not SUBREAPER)

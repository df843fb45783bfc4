import os

import pytest

from tickmind.server.testing import ServerFuzzer

MESSAGES = 40_000 if os.environ.get("LONG") else 3_000


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_no_message_changes_a_world_but_by_its_rules():
    report = ServerFuzzer(seed=100).run(MESSAGES)
    assert report.ticks > 30
    assert report.accepted > 30
    assert report.refused.total() > 100
    assert all(report.refused[kind] and report.answered[kind] for kind in ("submit", "frame", "control", "acquire"))

import pytest
from tests.kits.server_fuzz import ServerFuzzer
from tests.long import short_or_long

MESSAGES = short_or_long(3_000, 40_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_message_changes_a_world_but_by_its_rules():
    report = ServerFuzzer(seed=100).run(MESSAGES)
    assert report.ticks > 30
    assert report.accepted > 30
    assert report.refused.total() > 100
    assert all(report.refused[kind] and report.answered[kind] for kind in ("submit", "frame", "control", "acquire"))

import pytest

from tickmind.server.testing import ServerFuzzer


def test_no_message_changes_a_world_but_by_its_rules():
    report = ServerFuzzer(seed=1).run(1_500)
    assert report.ticks > 30
    assert report.accepted > 20
    assert report.refused.total() > 100


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(1))
def test_8_000_messages_change_a_world_only_by_its_rules(seed):
    report = ServerFuzzer(seed=100 + seed).run(8_000)
    assert report.accepted > 80
    assert all(report.refused[kind] and report.answered[kind] for kind in ("submit", "frame", "control", "acquire"))

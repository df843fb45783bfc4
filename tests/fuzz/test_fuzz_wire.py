import pytest

from tickmind.wire.testing import CODECS, Fuzzer


@pytest.mark.slow
def test_spoilt_messages_are_refused_or_read_as_legal_values():
    report = Fuzzer(seed=1).run(3_000)
    assert report.cases == 3_000
    assert report.refused.total() > 500


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(1))
def test_20_000_spoilt_messages_are_refused_or_read_as_legal_values(seed):
    report = Fuzzer(seed=100 + seed).run(20_000)
    for kind in CODECS:
        assert report.refused[kind] > 40, kind
        assert report.legal[kind] > 4, kind

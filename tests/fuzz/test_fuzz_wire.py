import pytest
from tests.kits.wire_fuzz import CODECS, Fuzzer
from tests.long import short_or_long

MESSAGES = short_or_long(6_000, 100_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spoilt_messages_are_refused_or_read_as_legal_values():
    report = Fuzzer(seed=100).run(MESSAGES)
    assert report.cases == MESSAGES
    assert report.refused.total() > 1_000
    for kind in CODECS:
        assert report.refused[kind] > 10, kind
        assert report.legal[kind] > 1, kind

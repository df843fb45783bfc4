import os

import pytest

from tickmind.wire.testing import CODECS, Fuzzer

MESSAGES = 100_000 if os.environ.get("LONG") else 6_000


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_spoilt_messages_are_refused_or_read_as_legal_values():
    report = Fuzzer(seed=100).run(MESSAGES)
    assert report.cases == MESSAGES
    assert report.refused.total() > 1_000
    for kind in CODECS:
        assert report.refused[kind] > 10, kind
        assert report.legal[kind] > 1, kind

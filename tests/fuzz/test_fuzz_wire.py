import subprocess
import sys
from pathlib import Path

import pytest
from tests.kits.wire_fuzz import CODECS, Fuzzer
from tests.long import short_or_long

ROOT = Path(__file__).parents[2]
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


@pytest.mark.slow
@pytest.mark.parametrize("part", ["wire", "server", "sim"])
def test_make_fuzz_runs_a_fuzzer_until_its_cases_are_over(part):
    command = [sys.executable, "-m", f"tests.fuzz.fuzz_{part}", "--seed", "7", "--cases", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 ")

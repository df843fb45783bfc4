"""Doubles for tests of whatever talks to worlds: random but legal messages, and ways to spoil them."""

from tickmind.wire.testing.fuzz import CODECS, Fuzzer, FuzzReport, MessageCodec
from tickmind.wire.testing.same import same
from tickmind.wire.testing.sample_columns import ColumnSamples
from tickmind.wire.testing.samples import Samples

__all__ = ["CODECS", "ColumnSamples", "FuzzReport", "Fuzzer", "MessageCodec", "Samples", "same"]

"""For tests of servers and agents: worlds to try them in, and spoilt messages to throw at them."""

from tickmind.server.testing.fuzz import ServerFuzzer, ServerFuzzReport
from tickmind.server.testing.meadow import meadow

__all__ = ["ServerFuzzReport", "ServerFuzzer", "meadow"]

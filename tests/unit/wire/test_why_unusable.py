"""Whether a world that does not do what it is asked can be used later, or why not."""

import pytest

from tickmind.wire import (
    MessageError,
    NotAllowedError,
    OverloadedError,
    TlsError,
    UnreachableError,
    why_unusable,
)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (UnreachableError("nobody there"), ""),
        (OverloadedError("too many"), ""),
        (TlsError("another CA"), "another CA"),
        (NotAllowedError("no token"), "no token"),
        (MessageError("floors", "set"), "floors must be set; it may be of another version"),
    ],
)
def test_only_a_message_that_can_not_be_read_asks_for_the_version(error, why):
    assert why_unusable(error) == why

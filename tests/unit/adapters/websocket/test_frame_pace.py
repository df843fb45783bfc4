import pytest

from tickmind.adapters.websocket import SocketLimits
from tickmind.adapters.websocket.frame_pace import FramePace
from tickmind.adapters.websocket.limits import MAX_BYTES_PER_S, MAX_FRAMES_PER_S

LIMITS = SocketLimits(frames_per_s=MAX_FRAMES_PER_S.at(10), bytes_per_s=MAX_BYTES_PER_S.at(1000))


def test_as_many_frames_as_may_come_in_a_second_do_not_wait():
    pace = FramePace(LIMITS)
    assert [pace.wait_s(5.0) for _ in range(12)] == [0.0] * 10 + [pytest.approx(0.1), pytest.approx(0.2)]
    assert pace.wait_s(6.0) == 0.0


def test_a_long_frame_delays_what_its_client_sends_next():
    pace = FramePace(LIMITS)
    assert pace.wait_s(5.0) == 0.0
    pace.note(4000)
    assert pace.wait_s(5.0) == pytest.approx(3.2)
    assert pace.wait_s(9.0) == 0.0

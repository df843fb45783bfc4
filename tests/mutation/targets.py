"""What must find its faults: modules, the narrow tests of each, and the faults that change nothing."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """Modules whose faults certain tests must find."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    equivalent: dict[str, str] = field(default_factory=dict)  # last name of the module and what the mutant is -> why
    least_found: float = 0.95


TARGETS = {
    "leases": Target(
        ("tickmind.server.control.leases",),
        ("tests/unit/server/test_lease_handover.py", "tests/unit/server/test_leases.py"),
        {
            "leases: 0 -> 1 in self._next_number = 0": "a grant's number only has to differ from that of other grants",
            "leases: 1 -> 2 in self._next_number += 1": "a grant's number only has to differ from that of other grants",
            "leases: 32 -> 33 in return hashlib.blake2b(shown.encode(), k": "the length of a digest that nobody sees",
        },
    ),
    "log": Target(
        (
            "tickmind.record.log.frame",
            "tickmind.record.log.segment",
            "tickmind.record.log.mending",
            "tickmind.record.log.log_writer",
        ),
        (
            "tests/unit/record/test_crashes.py",
            "tests/unit/record/test_frames.py",
            "tests/unit/record/test_resuming.py",
            "tests/unit/record/test_torn_tails.py",
            "tests/unit/record/test_hostile_files.py",
        ),
        {
            "frame: True -> False in stored = _CODECS[codec].compress(content": "an Arrow buffer is joined like bytes",
            "frame: len(stored) >= len(content) -> len(stored) > len(content)": "what is as long is read either way",
            "frame: 0 -> 1 in head = HEADER.pack(MARKER, kind, codec, ": "the place of the checksum, written over",
            "segment: size < len(MAGIC) + END.size -> size <= len(MAGIC) + END.size": "no frame fits so few bytes",
            "segment: mark != END_MARK or not len(MAGIC) <= offset < size -> mark != END_MARK and "
            "(not len(MAGIC) <= offset < size)": "looking through the file finds the same foot",
            "segment: True -> False in return True": "looking through the file finds the same foot",
            "segment: 1 -> 2 in place = data.find(mark, place + 1)": "a marker can't overlap another one",
            "mending: size > index.end -> size >= index.end": "nothing is safe beyond the end of a file",
            "mending: without source.seek(start)": "the parts are read one after another anyway",
            "mending: 0 -> 1 in if damaged or gap or (not whole.ticks an": "the end of a whole part is never at 1",
            "log_writer: False -> True in self._new_name = False  # the folder is ": "the first file sets it anyway",
            "log_writer: 0 -> 1 in count = 0": "the first tick of a file is a keyframe whatever the count",
        },
    ),
    "ssrf": Target(
        (
            "tickmind.gateway.settings.addresses",
            "tickmind.gateway.settings.base_url",
            "tickmind.gateway.routing.origins",
        ),
        ("tests/unit/gateway/routing/test_origins.py", "tests/unit/gateway/settings/test_base_urls.py"),
    ),
    "scheduler": Target(
        (
            "tickmind.server.tick_loop",
            "tickmind.server.pace",
            "tickmind.gateway.queue.fair",
            "tickmind.gateway.queue.wakeups",
            "tickmind.gateway.queue.limits.rate_guess",
        ),
        (
            "tests/unit/server/test_tick_loop.py",
            "tests/unit/server/test_pace.py",
            "tests/unit/gateway/queue/test_guessed_rate.py",
            "tests/unit/gateway/queue/test_ledger.py",
            "tests/unit/gateway/queue/test_wakeups.py",
        ),
        {
            "fair: 0 -> 1 in self._number = 0": "numbers only have to grow",
            "fair: 1 -> 2 in self._number += 1  # ties go to the firs": "numbers only have to grow",
            "fair: tag < least -> tag <= least": "sets what is equal already",
            "fair: start > virtual -> start >= virtual": "sets what is equal already",
            "fair: tag > self.top -> tag >= self.top": "sets what is equal already",
            "fair: tag > virtual -> tag >= virtual": "sets what is equal already",
            "fair: False -> True in self.gone = False  # removed from its ow": "the account is searched each time",
            "fair: len(self._accounts) >= _FOUND -> len(self._accounts) > _FOUND": "one more account is remembered",
            "fair: tag > owner.top -> tag >= owner.top": "sets what is equal already",
            "fair: False -> True in self.pressing = False  # there is no lee": "no leeway among sessions: adds zero",
            "fair: len(self._groups) > 1 -> len(self._groups) >= 1": "a lone group gets its tag anew with the next",
            "rate_guess: 1 -> 2 in self._marks: deque[Mark] = deque(maxlen=": "marks beyond the minute are left out",
            "rate_guess: 0 -> 1 in self._refused = 0": "only differences of what was taken count",
            "rate_guess: growth > math.log(_FORGET) -> growth >= math.log(_FORGET)": "no growth is just that",
            "rate_guess: 1 -> 2 in for number in range(len(turns) - 2, -1, ": "the last is no later than itself",
            "rate_guess: 0 -> 1 in count = max(count, taken - recent[0][1] ": "two requests' evidence is the least",
            "tick_loop: left_s <= 0 -> left_s < 0": "no time left is a timeout at once, which lets others have a turn",
            "tick_loop: without self._sink.publish(record)": "the sink of a world without one drops the tick",
        },
    ),
}

"""What must find its faults: modules, the narrow tests of each, and the faults that change nothing."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """Modules whose faults certain tests must find."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    equivalent: dict[str, str] = field(default_factory=dict)  # last name of the module and what the mutant is -> why


TARGETS = {
    "leases": Target(
        ("tickmind.server.leases",),
        ("tests/unit/server/test_lease_handover.py", "tests/unit/server/test_leases.py"),
        {
            "leases: 0 -> 1 in self._next_number = 0": "a grant's number only has to differ from that of other grants",
            "leases: 1 -> 2 in self._next_number += 1": "a grant's number only has to differ from that of other grants",
            "leases: 32 -> 33 in return hashlib.blake2b(secret.reveal().e": "the length of a digest that nobody sees",
        },
    ),
    "log": Target(
        (
            "tickmind.record.frame",
            "tickmind.record.segment",
            "tickmind.record.mending",
            "tickmind.record.log_writer",
        ),
        (
            "tests/unit/record/test_crashes.py",
            "tests/unit/record/test_frames.py",
            "tests/unit/record/test_resuming.py",
            "tests/unit/record/test_torn_tails.py",
        ),
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
            "tickmind.gateway.queue.rate_guess",
        ),
        (
            "tests/unit/server/test_tick_loop.py",
            "tests/unit/server/test_pace.py",
            "tests/unit/gateway/queue/test_fair_share.py",
            "tests/unit/gateway/queue/test_keyless_share.py",
            "tests/unit/gateway/queue/test_rate_guess.py",
            "tests/unit/gateway/queue/test_guessed_rate.py",
            "tests/unit/gateway/queue/test_ledger.py",
            "tests/unit/gateway/queue/test_wakeups.py",
            "tests/unit/gateway/queue/test_dispatcher_queue.py",
        ),
    ),
}

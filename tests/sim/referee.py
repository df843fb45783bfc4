"""Watches who is given control, by a count of its own in the server's monotonic time."""

from dataclasses import dataclass
from typing import Any

from tests.sim.witness import Court

from tickmind.base import Clock, Secret
from tickmind.protocol import Lease, Reason
from tickmind.server import Authority
from tickmind.server.leases import Grant
from tickmind.wire.frames import Closed

SLACK_S = 1e-9


@dataclass(slots=True)
class Hold:
    """Who has an entity, and until when."""

    controller_id: str
    secret: str
    until_s: float


class Referee:
    """Stands beside the leases of one authority. `clock` is the true one, whatever the leases go by."""

    def __init__(self, authority: Authority, clock: Clock, court: Court) -> None:
        self._court = court
        self._clock = clock
        self._ttl_s = authority.leases.ttl_ms / 1000
        self._holds: dict[int, Hold] = {}  # actor row -> who has it
        self._secrets: dict[str, int] = {}  # secret -> actor row
        self._grants: dict[int, str] = {}  # number of a grant -> secret
        leases: Any = authority.leases
        self._acquire, self._renew, self._renew_grant = leases.acquire, leases.renew, leases.renew_grant
        self._check, self._release, self._release_grant = leases.check, leases.release, leases.release_grant
        leases.acquire, leases.renew, leases.renew_grant = self.acquire, self.renew, self.renew_grant
        leases.check, leases.release, leases.release_grant = self.check, self.release, self.release_grant

    def _holder(self, row: int) -> Hold | None:
        hold = self._holds.get(row)
        return hold if hold is not None and hold.until_s > self._clock.monotonic() + SLACK_S else None

    def acquire(self, row: int, controller_id: str, previous: Secret | None = None) -> tuple[Grant, Lease] | Closed:
        hold = self._holder(row)
        found: tuple[Grant, Lease] | Closed = self._acquire(row, controller_id, previous)
        if isinstance(found, Closed):
            if hold is None:
                self._court.broken(f"row {row} was refused to {controller_id} although nobody has it")
            return found
        grant, lease = found
        own = hold is not None and previous is not None and previous.reveal() == hold.secret
        if hold is not None and not (own and hold.controller_id == controller_id):
            self._court.broken(f"row {row} was given to {controller_id} while {hold.controller_id} has it")
        secret = lease.lease_id.reveal()
        self._holds[row] = Hold(controller_id, secret, self._clock.monotonic() + self._ttl_s)
        self._secrets[secret] = row
        self._grants[grant.number] = secret
        return found

    def check(self, lease_id: Secret, row: int) -> Reason:
        found: Reason = self._check(lease_id, row)
        hold = self._holder(row)
        if (hold is not None and hold.secret == lease_id.reveal()) != (found is Reason.NONE):
            self._court.broken(f"a lease of row {row} was found {found or 'good'!r}, and the row has {hold}")
        return found

    def renew(self, lease_id: Secret) -> Lease | Closed:
        found: Lease | Closed = self._renew(lease_id)
        self._renewed(lease_id.reveal(), good=isinstance(found, Lease))
        return found

    def renew_grant(self, grant: Grant) -> Reason:
        found: Reason = self._renew_grant(grant)
        self._renewed(self._grants[grant.number], good=found is Reason.NONE)
        return found

    def _renewed(self, secret: str, *, good: bool) -> None:
        row = self._secrets.get(secret)
        hold = self._holder(row) if row is not None else None
        holds = hold is not None and hold.secret == secret
        if holds != good:
            self._court.broken(f"a lease of row {row} was {'' if good else 'not '}renewed, and the row has {hold}")
        if hold is not None and good:
            hold.until_s = self._clock.monotonic() + self._ttl_s

    def release(self, lease_id: Secret) -> Reason:
        self._forget(lease_id.reveal())
        found: Reason = self._release(lease_id)
        return found

    def release_grant(self, grant: Grant) -> None:
        self._forget(self._grants[grant.number])
        self._release_grant(grant)

    def _forget(self, secret: str) -> None:
        row = self._secrets.get(secret)
        if row is not None and row in self._holds and self._holds[row].secret == secret:
            del self._holds[row]

"""Watches who is given control, by a count of its own in the server's monotonic time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.sim.witness import Court

from tickmind.base import Clock, Secret
from tickmind.protocol import Lease, Reason
from tickmind.server import Authority
from tickmind.server.control.leases import BatchGrant, Grant
from tickmind.wire.messages.frames import Closed

SLACK_S = 1e-9


@dataclass(slots=True, eq=False)
class Hold:
    """A lease: who has it, and until when."""

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
        self._grants: dict[int, str] = {}  # number of a grant -> secret
        leases: Any = authority.leases
        self._real = {name: getattr(leases, name) for name in WATCHED}
        for name in WATCHED:
            setattr(leases, name, getattr(self, name))

    def _holder(self, row: int) -> Hold | None:
        hold = self._holds.get(row)
        return hold if hold is not None and hold.until_s > self._clock.monotonic() + SLACK_S else None

    def _may_have(self, row: int, controller_id: str, previous: Secret | None) -> bool:
        """Whether somebody may be given a row: it is free, or the same controller shows the secret of its lease."""
        hold = self._holder(row)
        if hold is None:
            return True
        return previous is not None and previous.reveal() == hold.secret and hold.controller_id == controller_id

    def _check_given(self, row: int, controller_id: str, *, may: bool, given: bool) -> None:
        if given and not may:
            hold = self._holds[row]
            self._court.broken(f"row {row} was given to {controller_id} while {hold.controller_id} has it")
        if may and not given:
            self._court.broken(f"row {row} was refused to {controller_id} although nobody else has it")

    def _hold(self, rows: list[int], controller_id: str, grant: Grant, lease_id: Secret) -> None:
        secret = lease_id.reveal()
        hold = Hold(controller_id, secret, self._clock.monotonic() + self._ttl_s)
        self._holds.update(dict.fromkeys(rows, hold))
        self._grants[grant.number] = secret

    def acquire(self, row: int, controller_id: str, previous: Secret | None = None) -> tuple[Grant, Lease] | Closed:
        may = self._may_have(row, controller_id, previous)
        found: tuple[Grant, Lease] | Closed = self._real["acquire"](row, controller_id, previous)
        self._check_given(row, controller_id, may=may, given=not isinstance(found, Closed))
        if not isinstance(found, Closed):
            self._hold([row], controller_id, found[0], found[1].lease_id)
        return found

    def acquire_many(self, rows: Any, controller_id: str, previous: Secret | None = None) -> BatchGrant | Closed:
        may = {row: self._may_have(row, controller_id, previous) for row in rows.tolist()}
        found: BatchGrant | Closed = self._real["acquire_many"](rows, controller_id, previous)
        granted = [] if isinstance(found, Closed) else found.granted.tolist()
        for row, may_have in may.items():
            self._check_given(row, controller_id, may=may_have, given=row in granted)
        if not isinstance(found, Closed):
            if previous is not None:
                self._forget(previous.reveal(), controller_id)
            self._hold(granted, controller_id, found.grant, found.lease_id)
        return found

    def check(self, lease_id: Secret, row: int) -> Reason:
        found: Reason = self._real["check"](lease_id, row)
        hold = self._holder(row)
        if (hold is not None and hold.secret == lease_id.reveal()) != (found is Reason.NONE):
            self._court.broken(f"a lease of row {row} was found {found or 'good'!r}, and the row has {hold}")
        return found

    def holds(self, grant: Grant, rows: Any) -> Any:
        found = self._real["holds"](grant, rows)
        secret = self._grants[grant.number]
        held = [(hold := self._holder(row)) is not None and hold.secret == secret for row in rows.tolist()]
        if not np.array_equal(found, np.array(held, dtype=np.bool_)):
            self._court.broken(
                f"{grant.controller_id} was found to hold {found.tolist()} of {rows.tolist()}, not {held}"
            )
        return found

    def renew(self, lease_id: Secret) -> Lease | Closed:
        found: Lease | Closed = self._real["renew"](lease_id)
        self._renewed(lease_id.reveal(), good=isinstance(found, Lease))
        return found

    def renew_grant(self, grant: Grant) -> Reason:
        found: Reason = self._real["renew_grant"](grant)
        self._renewed(self._grants[grant.number], good=found is Reason.NONE)
        return found

    def _renewed(self, secret: str, *, good: bool) -> None:
        held = [row for row in self._holds if (hold := self._holder(row)) is not None and hold.secret == secret]
        if bool(held) != good:
            self._court.broken(f"a lease was {'' if good else 'not '}renewed, and it has the rows {held}")
        for row in held:
            self._holds[row].until_s = self._clock.monotonic() + self._ttl_s

    def release(self, lease_id: Secret) -> Reason:
        self._forget(lease_id.reveal())
        found: Reason = self._real["release"](lease_id)
        return found

    def release_grant(self, grant: Grant) -> None:
        self._forget(self._grants[grant.number])
        self._real["release_grant"](grant)

    def _forget(self, secret: str, controller_id: str = "") -> None:
        """A lease is over; where a controller is named, only if it is that controller's."""
        self._holds = {
            row: hold
            for row, hold in self._holds.items()
            if hold.secret != secret or (controller_id and hold.controller_id != controller_id)
        }


WATCHED = ("acquire", "acquire_many", "check", "holds", "renew", "renew_grant", "release", "release_grant")

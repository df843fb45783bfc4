"""`Lease`: exclusive control of an entity for a short time."""

from dataclasses import dataclass

from tickmind.base import Secret


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to control one entity until `ttl_ms` after it was acquired or renewed.

    `lease_id` alone gives that right, so it is a secret. Of two leases of an entity the one with the greater
    `epoch` is the newer, also across restarts.
    """

    lease_id: Secret
    entity_id: str
    controller_id: str
    epoch: int
    ttl_ms: int

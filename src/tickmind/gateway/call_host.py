"""The port through which a call uses its gateway."""

from typing import Protocol, TypeVar

from tickmind.base import Clock
from tickmind.gateway.accounting.tally import UsageTally
from tickmind.gateway.http.deadlines import Deadlines
from tickmind.gateway.http.upstreams import Upstreams
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.holding import Holding
from tickmind.gateway.queue.job import Outcome
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.reply_sharing.cache import ReplyCache
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.settings.config import GatewayConfig

CallT_contra = TypeVar("CallT_contra", contravariant=True)


class CallHost(Protocol[CallT_contra]):
    """Queues and sends calls, and accounts for their end. `CallT_contra` is the class of calls."""

    config: GatewayConfig
    clock: Clock
    tally: UsageTally
    dispatcher: Dispatcher
    holding: Holding
    cache: ReplyCache
    upstreams: Upstreams
    deadlines: Deadlines

    def served(self, call: CallT_contra, job: Ticket, target: Target, outcome: Outcome) -> None:
        """Count a call that a target answered."""
        ...

    def served_by_another(self, call: CallT_contra) -> None:
        """Count a call that got the reply to an identical one."""
        ...

    def refused(self, call: CallT_contra, refusal: Refusal) -> None:
        """Count a refused call, and send the refusal to its caller."""
        ...

    def left(self, call: CallT_contra, *, used: bool) -> None:
        """Count a call whose caller disconnected; if a provider is being `used` for it, it is paid for."""
        ...

    def failed(self, call: CallT_contra, *, used: bool) -> None:
        """Count a call that ended without an answer; if a provider was `used` for it, it is paid for."""
        ...

    def cooldown_of(self, job: Ticket) -> bytes:
        """Return when the caller of a job may send its next request, as JSON."""
        ...

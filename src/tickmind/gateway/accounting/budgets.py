"""Budgets of sessions and callers: requests, tokens and money, per day or in all."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tickmind.base import Clock, Limit
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.settings.config import Budget, Caller, SharingConfig
from tickmind.llm.prices import Price

MAX_ACCOUNTS = Limit("owners with an account of their own", 10_000)
OTHER = "(other)"  # the shared account of all owners beyond MAX_ACCOUNTS
_DAY_S = 86_400
_UNLIMITED = Budget()


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """How much of its budget an owner has used; `unpriced` counts replies whose model has no known price."""

    owner: str
    budget: Budget
    requests: int
    tokens: int
    usd: float
    unpriced: int
    reserved_requests: int
    reserved_tokens: int
    reserved_usd: float


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, tokens and money that were used."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd)

    def __iter__(self) -> Iterator[float]:
        return iter((self.requests, self.tokens, self.usd))


NOTHING = Spent()


class SpendingShare(NamedTuple):
    """One owner's use on a day (None: in all): the part to publish to other gateways, and the total known here."""

    owner: str
    day: int | None
    spent: Spent
    known: Spent


class _Account:
    __slots__ = (
        "budget", "day", "held", "held_tokens", "held_usd", "owner", "requests", "shared_s", "tokens", "unpriced",
        "unshared", "usd",
    )  # fmt: skip

    def __init__(self, owner: str, budget: Budget, day: int) -> None:
        self.owner = owner
        self.budget = budget
        self.day = day
        self.requests = 0
        self.tokens = 0
        self.usd = 0.0
        self.unpriced = 0
        self.held = 0  # requests in flight, and what they may take
        self.held_tokens = 0
        self.held_usd = 0.0
        self.unshared = NOTHING  # used, and not published to other gateways yet
        self.shared_s = -math.inf  # when it was last exchanged with other gateways


class Hold:
    """The reservation of one request, until it is settled or released."""

    __slots__ = ("account", "open", "tokens", "usd")

    def __init__(self, account: _Account | None, tokens: int, usd: float) -> None:
        self.account = account
        self.tokens = tokens
        self.usd = usd
        self.open = account is not None


FREE = Hold(None, 0, 0.0)  # of a request without a budget


class Budgets:
    """Enforces budgets: each request reserves what it may take, then settles what it took.

    An account belongs to a session's owner: the caller where callers have keys (so that a new session name brings no
    new budget), else the session itself. It outlives the session. A caller's own budget goes before the general one.
    Days are UTC days of the wall clock; a clock that is set back renews nothing until a whole day has passed.
    """

    def __init__(
        self,
        config: SharingConfig,
        clock: Clock,
        *,
        callers: Sequence[Caller] = (),
        price_of: Callable[[str], Price | None] = lambda _model: None,
        max_accounts: Limit = MAX_ACCOUNTS,
    ) -> None:
        self._clock = clock
        self._default = config.budget
        self._of_caller: Mapping[str, Budget] = {
            caller.name: caller.budget for caller in callers if _bounds(caller.budget)
        }
        self.are_unlimited = not _bounds(self._default) and not self._of_caller
        self._price_of = price_of
        self._max_accounts = max_accounts
        self._accounts: dict[str, _Account] = {}  # owner -> account
        self.publishes = False  # whether what is used is published to other gateways
        self._next_shared = 0  # number of the account at which `to_share` continues
        self._day = self._wall_day()
        self._day_began_s = clock.monotonic()

    def reserve(self, session: Session, model: str, prompt_tokens: int, reply_tokens: int) -> Hold | Refusal:
        """Reserve what a request may take; return a `Refusal` if that would exceed the budget."""
        if self.are_unlimited:
            return FREE
        budget = self._of_caller.get(session.caller, self._default) if session.caller else self._default
        if budget is _UNLIMITED or not _bounds(budget):
            return FREE
        self._turn_day()
        account = self._accounts.get(session.owner) or self._open(session.owner, budget)
        if budget.per_day and account.day < self._day:
            self._renew(account)
        tokens = prompt_tokens + reply_tokens
        price = self._price_of(model) if budget.usd is not None else None
        usd = 0.0 if price is None else price.cost_usd(prompt_tokens, reply_tokens)
        if budget.requests is not None and account.requests + account.held + 1 > budget.requests:
            return self._spent(budget, f"all {budget.requests:,} requests are used or in flight")
        if budget.tokens is not None:
            left = budget.tokens - account.tokens - account.held_tokens
            if tokens > left or left <= 0:
                return self._spent(budget, f"{max(0, left):,} of {budget.tokens:,} tokens are left, {tokens:,} needed")
        if budget.usd is not None:
            left_usd = budget.usd - account.usd - account.held_usd
            if usd > left_usd or left_usd <= 0:
                return self._spent(
                    budget, f"{max(0.0, left_usd):.4f} of {budget.usd:g} US dollars are left, up to {usd:.4f} needed"
                )
        account.held += 1
        account.held_tokens += tokens
        account.held_usd += usd
        return Hold(account, tokens, usd)

    def settle(self, hold: Hold, tokens: int | None, usd: float | None) -> None:
        """Replace a reservation by what was really used, or by the whole reservation if the usage is unknown.

        Later calls for the same reservation do nothing.
        """
        account = hold.account
        if account is None or not hold.open:
            return
        self._let_go(account, hold)
        if tokens is None:
            tokens, usd = hold.tokens, hold.usd or None
        self._add(account, Spent(1, tokens, usd or 0.0))
        account.unpriced += usd is None

    def release(self, hold: Hold) -> None:
        """Cancel a reservation because the request was not served; later calls do nothing."""
        if hold.account is not None and hold.open:
            self._let_go(hold.account, hold)

    # Other gateways

    def to_share(self, most: int, every_s: float) -> list[SpendingShare]:
        """Collect up to `most` shares to publish: unpublished use, and every `every_s` seconds also unchanged accounts.

        Accounts take turns. The caller must return each share by `shared` or `not_shared`.
        """
        now_s = self._clock.monotonic()
        shares: list[SpendingShare] = []
        accounts = list(self._accounts.values())
        began = self._next_shared = self._next_shared if self._next_shared < len(accounts) else 0
        for account in (*accounts[began:], *accounts[:began]):
            if len(shares) == most:
                break
            self._next_shared += 1
            if account.unshared is not NOTHING or now_s - account.shared_s >= every_s:
                day = account.day if account.budget.per_day else None
                known = Spent(account.requests, account.tokens, account.usd)
                shares.append(SpendingShare(account.owner, day, account.unshared, known))
                account.unshared = NOTHING
                account.shared_s = now_s
        self._next_shared %= max(1, len(accounts))
        return shares

    def shared(self, owner: str, day: int | None, total: Spent) -> None:
        """Take over the total of all gateways for an owner; it never lowers what is known here."""
        account = self._accounts.get(owner)
        if account is None or (day is not None and account.day != day):
            return
        known = total + account.unshared
        account.requests, account.tokens, account.usd = known.requests, known.tokens, known.usd

    def not_shared(self, owner: str, day: int | None, spent: Spent) -> None:
        """Put back a share that could not be published, for the next `to_share`."""
        account = self._accounts.get(owner)
        if account is not None and (day is None or account.day == day) and spent is not NOTHING:
            account.unshared += spent

    def listing(self) -> tuple[BudgetStatus, ...]:
        """List all accounts with what is used of them."""
        self._turn_day()
        for account in self._accounts.values():
            if account.budget.per_day and account.day < self._day:
                self._renew(account)
        return tuple(
            BudgetStatus(
                account.owner,
                account.budget,
                account.requests,
                account.tokens,
                account.usd,
                account.unpriced,
                account.held,
                account.held_tokens,
                account.held_usd,
            )
            for account in self._accounts.values()
        )

    def _open(self, owner: str, budget: Budget) -> _Account:
        if not self._max_accounts.allows(len(self._accounts) + 1):
            self._forget_yesterdays()
        if not self._max_accounts.allows(len(self._accounts) + 1):
            owner = OTHER
            if (shared := self._accounts.get(OTHER)) is not None:
                return shared
        account = self._accounts[owner] = _Account(owner, budget, self._day)
        return account

    def _forget_yesterdays(self) -> None:
        """Drop the accounts that begin anew today."""
        self._accounts = {
            owner: account
            for owner, account in self._accounts.items()
            if account.held or not account.budget.per_day or account.day == self._day
        }

    def _renew(self, account: _Account) -> None:
        account.day = self._day
        account.requests = account.tokens = account.unpriced = 0
        account.usd = 0.0
        account.unshared = NOTHING

    def _turn_day(self) -> None:
        """Advance the day. It never goes back: after a clock was set back, days last 24 hours from then."""
        now_s = self._clock.monotonic()
        if self._wall_day() > self._day or now_s - self._day_began_s >= _DAY_S:
            self._day = max(self._day + 1, self._wall_day())
            self._day_began_s = now_s

    def _wall_day(self) -> int:
        return int(self._clock.wall() // _DAY_S)

    def _spent(self, budget: Budget, what: str) -> Refusal:
        if not budget.per_day:
            return Refusal(Code.BUDGET_SPENT, f"the budget is spent: {what}; it does not renew, ask the operator")
        wait_s, when = _DAY_S - self._clock.wall() % _DAY_S, ", at midnight UTC"
        if self._wall_day() < self._day:
            wait_s, when = _DAY_S - (self._clock.monotonic() - self._day_began_s), ""
        hours, minutes = divmod(int(wait_s) // 60, 60)
        return Refusal(
            Code.BUDGET_SPENT,
            f"the daily budget is spent: {what}; it renews in {hours} h {minutes} min{when}",
            retry_after_s=wait_s,
        )

    def _add(self, account: _Account, spent: Spent) -> None:
        account.requests += spent.requests
        account.tokens += spent.tokens
        account.usd += spent.usd
        if self.publishes:
            account.unshared += spent

    @staticmethod
    def _let_go(account: _Account, hold: Hold) -> None:
        hold.open = False
        account.held -= 1
        account.held_tokens -= hold.tokens
        account.held_usd = account.held_usd - hold.usd if account.held else 0.0


def _bounds(budget: Budget) -> bool:
    return budget.requests is not None or budget.tokens is not None or budget.usd is not None

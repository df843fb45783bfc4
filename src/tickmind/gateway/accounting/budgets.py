"""What each session or caller may use: requests, tokens and money, per day or in all."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tickmind.base import Clock, Limit
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.settings.config import Budget, Caller, SharingConfig
from tickmind.llm.prices import Price

MAX_ACCOUNTS = Limit("owners whose use is told apart", 10_000)
OTHER = "(other)"  # the one account of all owners beyond that
_DAY_S = 86_400
_UNLIMITED = Budget()


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """How much of its budget an owner has used; `unpriced` answers had no known price and cost it nothing."""

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
    """What was used."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd)

    def __iter__(self) -> Iterator[float]:
        return iter((self.requests, self.tokens, self.usd))


NOTHING = Spent()


class SpendingShare(NamedTuple):
    """What other gateways are to hear of an owner on a day (None: in all), and the sum of all as it is known here."""

    owner: str
    day: int | None
    spent: Spent
    known: Spent


class _Account:
    __slots__ = (
        "budget", "day", "held", "held_tokens", "held_usd", "owner", "requests", "shared_s", "tokens", "unpriced",
        "untold", "usd",
    )  # fmt: skip

    def __init__(self, owner: str, budget: Budget, day: int) -> None:
        self.owner = owner
        self.budget = budget
        self.day = day
        self.requests = 0
        self.tokens = 0
        self.usd = 0.0
        self.unpriced = 0
        self.held = 0  # requests under way, and what they may take
        self.held_tokens = 0
        self.held_usd = 0.0
        self.untold = NOTHING  # of what was used, other gateways have not heard of this
        self.shared_s = -math.inf  # when they were last asked


class Hold:
    """What one request has reserved, until it is settled."""

    __slots__ = ("account", "open", "tokens", "usd")

    def __init__(self, account: _Account | None, tokens: int, usd: float) -> None:
        self.account = account
        self.tokens = tokens
        self.usd = usd
        self.open = account is not None


FREE = Hold(None, 0, 0.0)  # of a request that no budget concerns


class Budgets:
    """Keeps owners within their budgets: each request reserves what it may take and settles what it took.

    An account belongs to a session's owner: the caller where callers have keys (so that new session names bring no new
    money), else the session itself. It outlives the session. A caller's own budget goes before the general one.
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
        self.concern_nobody = not _bounds(self._default) and not self._of_caller
        self._price_of = price_of
        self._max_accounts = max_accounts
        self._accounts: dict[str, _Account] = {}  # owner -> account
        self.tells = False  # whether other gateways are to hear of what is used
        self._next_told = 0  # number of the account with which telling goes on
        self._day = self._wall_day()
        self._day_began_s = clock.monotonic()

    def reserve(self, session: Session, model: str, prompt_tokens: int, reply_tokens: int) -> Hold | Refusal:
        """Set aside what a request may take, or say which budget it would break and when that renews."""
        if self.concern_nobody:
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
            return self._spent(budget, f"all {budget.requests:,} requests are used or under way")
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
        """Replace a reservation by what was really used, or take it for that if nobody counted the tokens.

        Once: later calls do nothing.
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
        """Give a reservation back: the request was not served; once, later calls do nothing."""
        if hold.account is not None and hold.open:
            self._let_go(hold.account, hold)

    # Other gateways

    def to_share(self, most: int, every_s: float) -> list[SpendingShare]:
        """What others have not heard of, and from time to time nothing new, to hear; the owners take turns.

        Each must come back, by `shared` or by `not_shared`.
        """
        now_s = self._clock.monotonic()
        found: list[SpendingShare] = []
        accounts = list(self._accounts.values())
        began = self._next_told = self._next_told if self._next_told < len(accounts) else 0
        for account in (*accounts[began:], *accounts[:began]):
            if len(found) == most:
                break
            self._next_told += 1
            if account.untold is not NOTHING or now_s - account.shared_s >= every_s:
                day = account.day if account.budget.per_day else None
                known = Spent(account.requests, account.tokens, account.usd)
                found.append(SpendingShare(account.owner, day, account.untold, known))
                account.untold = NOTHING
                account.shared_s = now_s
        self._next_told %= max(1, len(accounts))
        return found

    def shared(self, owner: str, day: int | None, total: Spent) -> None:
        """What all gateways together have used, at least what was known here."""
        account = self._accounts.get(owner)
        if account is None or (day is not None and account.day != day):
            return
        known = total + account.untold
        account.requests, account.tokens, account.usd = known.requests, known.tokens, known.usd

    def not_shared(self, owner: str, day: int | None, spent: Spent) -> None:
        """Others could not be told; they will be."""
        account = self._accounts.get(owner)
        if account is not None and (day is None or account.day == day) and spent is not NOTHING:
            account.untold += spent

    def listing(self) -> tuple[BudgetStatus, ...]:
        """All accounts with what is used of them."""
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
        """Those that begin anew today anyway."""
        self._accounts = {
            owner: account
            for owner, account in self._accounts.items()
            if account.held or not account.budget.per_day or account.day == self._day
        }

    def _renew(self, account: _Account) -> None:
        account.day = self._day
        account.requests = account.tokens = account.unpriced = 0
        account.usd = 0.0
        account.untold = NOTHING

    def _turn_day(self) -> None:
        """The day only counts up, so that none comes twice; once a clock was set back, days last 24 hours from then."""
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
            f"the budget of the day is spent: {what}; it renews in {hours} h {minutes} min{when}",
            retry_after_s=wait_s,
        )

    def _add(self, account: _Account, spent: Spent) -> None:
        account.requests += spent.requests
        account.tokens += spent.tokens
        account.usd += spent.usd
        if self.tells:
            account.untold += spent

    @staticmethod
    def _let_go(account: _Account, hold: Hold) -> None:
        hold.open = False
        account.held -= 1
        account.held_tokens -= hold.tokens
        account.held_usd = account.held_usd - hold.usd if account.held else 0.0


def _bounds(budget: Budget) -> bool:
    return budget.requests is not None or budget.tokens is not None or budget.usd is not None

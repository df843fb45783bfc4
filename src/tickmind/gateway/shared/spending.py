"""What owners have used of their budgets at all gateways: sums in Redis, to which each adds and which each reads."""

from typing import TYPE_CHECKING, Any

from tickmind.gateway.sharing.budgets import Budgets, Spent

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_OWNERS = 200  # in one go; the others come with the next
READ_S = 0.5  # how often the sums of an owner are read that uses nothing here
KEPT_S = 2 * 86_400  # the sums of a day


class Spending:
    """Brings a gateway's budgets and the sums of all together.

    What is under way elsewhere is not known here, so several gateways together may go over a budget by what they let
    through within `READ_S`.
    """

    def __init__(self, budgets: Budgets, namespace: str) -> None:
        self._budgets = budgets
        self._prefix = f"{namespace}:spent"
        budgets.tells = True

    async def exchange(self, client: "Redis") -> None:
        """Add what is new and read the sums."""
        shares = self._budgets.to_share(MAX_OWNERS, READ_S)
        if not shares:
            return
        try:
            async with client.pipeline(transaction=True) as pipeline:
                for owner, day, spent in shares:
                    key = f"{self._prefix}:{'all' if day is None else day}"
                    pipeline.hincrby(key, f"requests {owner}", spent.requests)
                    pipeline.hincrby(key, f"tokens {owner}", spent.tokens)
                    pipeline.hincrbyfloat(key, f"usd {owner}", spent.usd)
                    if day is not None:
                        pipeline.expire(key, KEPT_S)
                answers: list[Any] = await pipeline.execute()
        except BaseException:
            for owner, day, spent in shares:
                self._budgets.not_shared(owner, day, spent)
            raise
        totals = iter(answers)
        for owner, day, _ in shares:
            total = Spent(int(next(totals)), int(next(totals)), float(next(totals)))
            if day is not None:
                next(totals)  # of the expiry
            self._budgets.shared(owner, day, total)

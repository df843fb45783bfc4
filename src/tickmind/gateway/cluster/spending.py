"""Budget use across all gateways: sums in Redis that each gateway adds to and reads."""

from typing import TYPE_CHECKING, Any

from tickmind.gateway.accounting.budgets import Budgets, SpendingShare, Spent

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_OWNERS = 200  # per exchange; the others follow in the next
READ_S = 0.5  # how often the sums of an idle owner are read
KEPT_S = 2 * 86_400  # the sums of a day

# KEYS[1]: a hash of sums. ARGV: for how many seconds it is kept, 0: for ever; for each owner its name, what is added
# to its requests, tokens and dollars, and what these sums are then at least, as the gateway knows: if less is there,
# the server has lost data. Returns the three sums of each owner.
ADD = """
local kinds, answer = {'requests ', 'tokens ', 'usd '}, {}
for i = 2, #ARGV, 7 do
  for j, kind in ipairs(kinds) do
    local field, least = kind .. ARGV[i], ARGV[i + 3 + j]
    local sum = redis.call(j == 3 and 'HINCRBYFLOAT' or 'HINCRBY', KEYS[1], field, ARGV[i + j])
    if j < 3 then sum = string.format('%.0f', sum) end
    if tonumber(sum) < tonumber(least) then
      sum = least
      redis.call('HSET', KEYS[1], field, sum)
    end
    answer[#answer + 1] = sum
  end
end
if ARGV[1] ~= '0' then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return answer
"""


class Spending:
    """Synchronises a gateway's budgets with the sums of all gateways.

    What is in flight at other gateways is not known here, so together they may exceed a budget by what they admit
    within `READ_S`. If the server loses its data, each gateway restores the sums it knows, so no budget is renewed.
    """

    def __init__(self, budgets: Budgets, namespace: str) -> None:
        self._budgets = budgets
        self._prefix = f"{namespace}:spent"
        self._script = ""
        budgets.publishes = True

    async def prepare(self, client: "Redis") -> None:
        """Load the script into a server that may not have it."""
        self._script = await client.script_load(ADD)

    async def exchange(self, client: "Redis") -> None:
        """Add new use and read the sums."""
        shares = self._budgets.to_share(MAX_OWNERS, READ_S)
        if not shares:
            return
        by_day: dict[int | None, list[SpendingShare]] = {}
        for share in shares:
            by_day.setdefault(share.day, []).append(share)
        try:
            async with client.pipeline(transaction=True) as pipeline:
                for day, group in by_day.items():
                    key = f"{self._prefix}:{'all' if day is None else day}"
                    numbers = [part for share in group for part in (share.owner, *share.spent, *share.known)]
                    pipeline.evalsha(self._script, 1, key, 0 if day is None else KEPT_S, *numbers)
                answers: list[Any] = await pipeline.execute()
        except BaseException:
            for share in shares:
                self._budgets.not_shared(share.owner, share.day, share.spent)
            raise
        for (day, group), sums in zip(by_day.items(), answers, strict=True):
            for number, share in enumerate(group):
                requests, tokens, usd = sums[3 * number : 3 * number + 3]
                self._budgets.shared(share.owner, day, Spent(int(requests), int(tokens), float(usd)))

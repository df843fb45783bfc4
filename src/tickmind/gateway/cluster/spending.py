"""What owners have used of their budgets at all gateways: sums in Redis, to which each adds and which each reads."""

from typing import TYPE_CHECKING, Any

from tickmind.gateway.accounting.budgets import Budgets, SpendingShare, Spent

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_OWNERS = 200  # in one go; the others come with the next
READ_S = 0.5  # how often the sums of an owner are read that uses nothing here
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
    """Brings a gateway's budgets and the sums of all together.

    What is under way elsewhere is not known here, so several gateways together may go over a budget by what they let
    through within `READ_S`. A server that lost its data is told again what each gateway knows, so no budget is renewed.
    """

    def __init__(self, budgets: Budgets, namespace: str) -> None:
        self._budgets = budgets
        self._prefix = f"{namespace}:spent"
        self._script = ""
        budgets.tells = True

    async def prepare(self, client: "Redis") -> None:
        """Bring the script to a server that may not have it."""
        self._script = await client.script_load(ADD)

    async def exchange(self, client: "Redis") -> None:
        """Add what is new and read the sums."""
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

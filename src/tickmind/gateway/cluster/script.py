"""The script that runs inside Redis: it grants permits of a limit, each with the time from which it is valid."""

import hashlib
import math
from dataclasses import dataclass

from tickmind.gateway.settings.config import Limits

LEASE_S = 0.5  # how long a permit stays valid; then it expires, which is safe
SHORT_LEASE_S = 0.04  # where limits are per second
MARGIN = 0.01  # of a rate stays unused
_BUCKETS_OF_A_MINUTE = 120
_BUCKETS_OF_A_DAY = 288

# KEYS[1]: a hash with `tat` (the theoretical time of the next arrival) and buckets `window:number` -> what they hold.
# ARGV: units for each permit, permits wanted, microseconds per unit, tolerated earliness, units to charge beyond what
# was leased, how far ahead permits may lie, microseconds that a unit brings when it is given back; the number of
# windows, and for each its length, its buckets' width and its limit; then pairs of how long ago and how much was leased
# and not used, which is returned to the bucket where it was counted.
# Returns the server's time, when to ask again if nothing was granted (0 otherwise), and the permits' times, which only
# grow: the gateway that asks first goes first. Every time is in microseconds of the server's clock.
RESERVE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local cost, wanted, unit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tolerance, charge, ahead = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local windows, longest = {}, 60000000
local refunds = 9 + 3 * ARGV[8]
for i = 9, refunds - 1, 3 do
  local length = tonumber(ARGV[i])
  windows[#windows + 1] = {
    length = length, width = tonumber(ARGV[i + 1]), limit = tonumber(ARGV[i + 2]), held = {}, order = {}
  }
  longest = math.max(longest, length * 2)
end

local tat
local state = redis.call('HGETALL', KEYS[1])
for i = 1, #state, 2 do
  local field, value = state[i], tonumber(state[i + 1])
  if field == 'tat' then
    tat = value
  else
    local number, bucket = string.match(field, '^(%d+):(%d+)$')
    local window = windows[tonumber(number)]
    bucket = tonumber(bucket)
    if (bucket + 1) * window.width + window.length <= now then
      redis.call('HDEL', KEYS[1], field)
    else
      window.held[bucket] = value
      window.order[#window.order + 1] = bucket
    end
  end
end
for _, window in ipairs(windows) do table.sort(window.order) end
if tat == nil then tat = now + tolerance end  -- nothing is known of the past, so nothing was saved up

local changed = {}
local function add(number, window, time, amount)
  local bucket = math.floor(time / window.width)
  if window.held[bucket] == nil then
    window.held[bucket] = 0
    window.order[#window.order + 1] = bucket
    table.sort(window.order)
  end
  window.held[bucket] = window.held[bucket] + amount
  changed[number .. ':' .. string.format('%.0f', bucket)] = window.held[bucket]
end

local function give_back(number, window, time, amount)
  for i = #window.order, 1, -1 do  -- from its own bucket to older ones: what leaves the window too early is safe
    local bucket = window.order[i]
    local part = bucket * window.width <= time and math.min(amount, window.held[bucket]) or 0
    if part > 0 then
      window.held[bucket] = window.held[bucket] - part
      changed[number .. ':' .. string.format('%.0f', bucket)] = window.held[bucket]
      amount = amount - part
    end
  end
end

if charge > 0 then
  tat = math.max(tat, now) + charge * unit
  for number, window in ipairs(windows) do add(number, window, now, charge) end
end
local reckon = false
for i = refunds, #ARGV, 2 do
  local time, amount = now - ARGV[i], tonumber(ARGV[i + 1])
  tat = tat - amount * ARGV[7]
  reckon = reckon or time > now
  for number, window in ipairs(windows) do give_back(number, window, time, amount) end
end
if reckon and #windows > 0 then  -- a permit for later had to wait for a window, which the next one need not
  local window, free = windows[1], 0
  for _, bucket in ipairs(window.order) do
    local held = window.held[bucket]
    if held > 0 then free = math.max(free, (bucket + 1) * window.width) + held * unit end
  end
  tat = math.min(tat, math.max(free, now))
end

local function fits_from(window, time)
  local total = cost
  for _, bucket in ipairs(window.order) do
    if (bucket + 1) * window.width + window.length > time then total = total + window.held[bucket] end
  end
  for _, bucket in ipairs(window.order) do
    if total <= window.limit then return time end
    local out = (bucket + 1) * window.width + window.length
    if out > time then
      total = total - window.held[bucket]
      time = out
    end
  end
  return time
end

local answer, again = {now, 0}, 0
for given = 1, wanted do
  local time = math.max(now, tat - tolerance)
  for _, window in ipairs(windows) do time = fits_from(window, time) end
  for _, window in ipairs(windows) do time = fits_from(window, time) end
  if time > now + ahead then
    again = time
    break
  end
  tat = math.max(tat, time) + cost * unit
  for number, window in ipairs(windows) do add(number, window, time, cost) end
  answer[#answer + 1] = math.ceil(time)
end
if #answer == 2 then answer[2] = math.ceil(again) end

changed['tat'] = tat
local fields = {}
for field, value in pairs(changed) do
  fields[#fields + 1] = field
  fields[#fields + 1] = string.format('%.3f', value)
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.ceil(math.max(longest, tat - now + 60000000) / 1000))
return answer
"""

# KEYS[1]: a sorted set of the gateways by when they were last heard of. ARGV: this gateway, after how many seconds
# another one counts as silent, and after how many it is forgotten.
# Returns the server's time and the number of gateways; then for each silent one its name and how long it is silent.
BEAT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[3] * 1000000))
redis.call('EXPIRE', KEYS[1], 3600)
local answer = {now, redis.call('ZCARD', KEYS[1])}
local silent = redis.call(
  'ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[2] * 1000000), 'WITHSCORES'
)
for i = 1, #silent, 2 do
  answer[#answer + 1] = silent[i]
  answer[#answer + 1] = now - silent[i + 1]
end
return answer
"""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """What the script must know of one kind of limit: requests, or tokens."""

    unit_us: float  # the even distance of two units
    back_us: float  # by how much a returned unit advances the next one
    tolerance_us: float  # burst allowance
    lease_s: float
    windows: tuple[tuple[float, float, float], ...]  # (length, bucket's width, limit), times in microseconds
    most: float  # the largest amount that ever fits

    @property
    def digest(self) -> str:
        """Return a digest of the spec, so that gateways with different settings don't share counters."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    def arguments(self) -> list[float]:
        """Return the windows as arguments of the script."""
        return [len(self.windows), *(number for window in self.windows for number in window)]


def request_spec(limits: Limits) -> PoolSpec | None:
    """Return the spec for a limit's requests; None if there is no such limit.

    Even spacing alone keeps every window within its limit, so an unused slot is not granted again; with a burst, a
    counter of the last minute enforces the limit as well.
    """
    second, minute, day = limits.requests_per_second, limits.requests_per_minute, limits.requests_per_day
    units = [1e6 / second * (1 + SHORT_LEASE_S)] if second else []
    units += [60e6 / minute * (1 + MARGIN)] if minute else []
    lease_s = SHORT_LEASE_S if second else LEASE_S
    burst = min(float(limits.burst), *(limit for limit in (second, minute) if limit), math.inf)
    windows = _windows(minute if burst > 1 else None, day, lease_s)
    if not units and not windows:
        return None
    unit_us = max(units, default=0.0)
    return PoolSpec(unit_us, 0.0, unit_us * max(0.0, burst - 1), lease_s, windows, 1.0)


def token_spec(limits: Limits) -> PoolSpec | None:
    """Return the spec for a limit's tokens; None if there is no such limit."""
    minute, day = limits.tokens_per_minute, limits.tokens_per_day
    windows = _windows(minute, day, LEASE_S)
    if not windows:
        return None
    unit_us = 60e6 / minute * (1 + MARGIN) if minute else 0.0
    return PoolSpec(unit_us, unit_us, 0.0, LEASE_S, windows, min(limit for limit in (minute, day) if limit))


def _windows(minute: float | None, day: float | None, lease_s: float) -> tuple[tuple[float, float, float], ...]:
    windows = []
    if minute:
        windows.append(((60 + lease_s) * 1e6, 60e6 / _BUCKETS_OF_A_MINUTE, minute))
    if day:
        windows.append(((86_400 + lease_s) * 1e6, 86_400e6 / _BUCKETS_OF_A_DAY, max(1.0, day)))
    return tuple(windows)

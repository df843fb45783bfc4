"""A rate limiter that several gateways share."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tickmind.gateway.cluster.pool import Pool
from tickmind.gateway.cluster.script import request_spec, token_spec
from tickmind.gateway.queue.limits.rate_limiter import RateLimiter
from tickmind.gateway.settings.config import Limits


class ClusterPeers(Protocol):
    """What a shared pace must know of the other gateways: whether they can be reached, and how many there are."""

    @property
    def alone(self) -> int:
        """Return 0 while the shared state is connected, else the number by which the limits are divided."""
        ...

    @property
    def rejoining(self) -> int:
        """Return the number by which limits are divided while others may still be reconnecting; else 0."""
        ...


class SharedPace(RateLimiter):
    """Holds a limit together with other gateways: every request needs a leased permit.

    While the shared state is lost, the gateway keeps to its part of the limit, evenly and without a burst. After
    reconnecting it needs permits, and also keeps to its part until the other gateways are back.
    """

    __slots__ = ("__weakref__", "_limits", "_part", "_parts", "_peers", "_request_pool", "_since_s", "_token_pool")

    def __init__(self, name: str, limits: Limits, peers: ClusterPeers, poke: Callable[[Pool], None]) -> None:
        super().__init__(limits)
        self._limits = limits
        self._peers = peers
        requests, tokens = request_spec(limits), token_spec(limits)
        self._request_pool = None if requests is None else Pool(f"{name}:requests:{requests.digest}", requests, poke)
        self._token_pool = None if tokens is None else Pool(f"{name}:tokens:{tokens.digest}", tokens, poke)
        self._part: RateLimiter | None = None  # while alone or rejoining
        self._parts = 0
        self._since_s = -math.inf  # when it became alone, or joined the others

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Return the pools of leases, of requests and of tokens, as far as there are limits."""
        return tuple(pool for pool in (self._request_pool, self._token_pool) if pool is not None)

    def earliest_s(self, now: float, tokens: int, spare: bool = False) -> float:  # noqa: ARG002 - as any pace
        """Return when a request may be sent, as far as is known; asks for permits where there are none.

        The script spaces the permits for all gateways; an even distance per gateway would only waste them.
        """
        return self._when_s(now, tokens, Pool.earliest_s)

    def look_s(self, now: float, tokens: int, spare: bool = False) -> float:  # noqa: ARG002 - as any pace
        """Return the same estimate without leasing permits, which would expire unused."""
        return self._when_s(now, tokens, Pool.look_s)

    def take(self, now: float, tokens: int, spare: bool = False) -> None:  # noqa: ARG002 - as any pace
        """Use a permit now."""
        super().take(now, tokens)
        peers = self._peers
        if parts := peers.alone or peers.rejoining:
            self._own_part(now, parts).take(now, tokens)
        if peers.alone:
            return
        if self._request_pool is not None:
            self._request_pool.take(now, 1)
        if tokens and self._token_pool is not None:
            self._token_pool.take(now, tokens)

    def settle(self, taken_s: float, estimated: int, actual: int) -> None:
        """Correct a request's estimated tokens by the actual ones."""
        super().settle(taken_s, estimated, actual)
        if self._token_pool is not None and estimated != actual and taken_s >= self._since_s:
            if self._part is not None:
                self._part.settle(taken_s, estimated, actual)
            if not self._peers.alone:
                self._token_pool.correct(taken_s, actual - estimated)

    def charge_absent(self, seconds: float) -> None:
        """Charge what gateways that are cut off may use: each goes on with its part of the limit."""
        for pool in self.pools:
            pool.charge_absent(seconds)

    def rejoined(self, now: float) -> None:
        """Keep to permits again, now that the shared state is back."""
        self._since_s = now
        for pool in self.pools:
            pool.clear()

    def _when_s(self, now: float, tokens: int, of_pool: Callable[[Pool, float, float], float]) -> float:
        peers = self._peers
        if parts := peers.alone or peers.rejoining:
            at = max(super().earliest_s(now, tokens), self._own_part(now, parts).earliest_s(now, tokens))
            if peers.alone or at > now:
                return at  # a permit leased before its time would expire unused
        else:
            self._part = None
        at = now if self._request_pool is None else of_pool(self._request_pool, now, 1)
        if tokens and self._token_pool is not None:
            at = max(at, of_pool(self._token_pool, now, tokens))
        return at

    def _own_part(self, now: float, parts: int) -> RateLimiter:
        if self._part is None or self._parts != parts:
            self._parts = parts
            self._part = RateLimiter(part_of(self._limits, parts))
            self._part.spend_burst(now)
            self._since_s = now
            for pool in self.pools:
                pool.clear()
        return self._part


def part_of(limits: Limits, parts: int) -> Limits:
    """Return the part of a limit that one of several gateways may use alone."""

    def part(limit: float | None) -> float | None:
        return None if limit is None else limit / parts

    return replace(
        limits,
        requests_per_second=part(limits.requests_per_second),
        requests_per_minute=part(limits.requests_per_minute),
        requests_per_day=part(limits.requests_per_day),
        tokens_per_minute=part(limits.tokens_per_minute),
        tokens_per_day=part(limits.tokens_per_day),
        burst=1,
    )

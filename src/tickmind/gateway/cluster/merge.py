"""Merges news from other gateways into sessions and lanes, and collects the news to publish."""

from tickmind.base import Clock
from tickmind.gateway.cluster.lane_limits import LaneLimit, LimitedLanes
from tickmind.gateway.cluster.news import DeferNews, LimitNews, News, UseNews
from tickmind.gateway.fairness.activity import NEVER, Activity, KeyUse
from tickmind.gateway.fairness.cooldown import Cooldowns
from tickmind.gateway.fairness.defer import Decision, Defers
from tickmind.gateway.fairness.sessions import Sessions

MAX_NEWS = 2_000  # in one message; what is left goes with the next
_PUBLISH_PER_TIMEOUT = 8  # how often within a session's timeout the use of an active session is published


class Merger:
    """Merges and collects news; remembers what the other gateways know already."""

    def __init__(
        self,
        sessions: Sessions,
        cooldowns: Cooldowns,
        lanes: LimitedLanes,
        clock: Clock,
        *,
        timeout_s: float,
        strict: bool,
        defers: Defers | None = None,
    ) -> None:
        self._offset_s = 0.0  # the server's time minus the local monotonic one
        self._sessions = sessions
        self.lanes = lanes
        self._clock = clock
        self.timeout_s = timeout_s
        self._fresh: dict[KeyUse, Activity] = {}  # admitted, and not published yet
        self._limits: dict[str, float] = {}  # lane -> until when it is limited, as published
        self._defers = defers
        if defers is not None:
            defers.fresh = {}
        if strict:
            cooldowns.on_admitted = self._admitted

    def set_clock(self, server_s: float) -> None:
        """Set the offset to the server's clock."""
        self._offset_s = server_s - self._clock.monotonic()
        if self._defers is not None:
            self._defers.offset_s = self._offset_s

    def collect(self, *, all_uses: bool) -> list[News]:
        """Collect the news to publish: limits, admitted sessions, and with `all_uses` every active session."""
        now_s = self._clock.monotonic()
        news: list[News] = []
        for limit in self.lanes.limits():
            if limit.until_s > max(now_s, self._limits.get(limit.lane, NEVER)) + 0.001:
                self._limits[limit.lane] = limit.until_s
                news.append(LimitNews(limit.lane, self._server_ms(limit.until_s), limit.reason))
        self._limits = {lane: until_s for lane, until_s in self._limits.items() if until_s > now_s}
        deferred = self._defers.fresh if self._defers is not None else None
        while deferred and len(news) < MAX_NEWS:
            (label, agent), (until_s, made_ms, ended_ms) = deferred.popitem()
            news.append(DeferNews(label, agent, self._server_ms(until_s), made_ms, ended_ms))
        while self._fresh and len(news) < MAX_NEWS:
            use, activity = self._fresh.popitem()
            news.append(self._told(activity, use, now_s))
        if all_uses:
            for activity in self._sessions.activities():
                activity.sweep(now_s)
                for use in activity.uses():
                    last_s = now_s if use.waiting else use.last_s
                    if last_s - use.published_s > self.timeout_s / _PUBLISH_PER_TIMEOUT and len(news) < MAX_NEWS:
                        news.append(self._told(activity, use, now_s))
        return news

    def merge(self, news: News) -> None:
        """Apply news of another gateway; it never shortens or resets anything."""
        now_s = self._clock.monotonic()
        if isinstance(news, LimitNews):
            until_s = self._local_s(news.until_ms)
            if until_s > now_s:
                self._limits[news.lane] = max(until_s, self._limits.get(news.lane, NEVER))
                self.lanes.limit(LaneLimit(news.lane, until_s, news.reason))
            return
        if isinstance(news, DeferNews):
            if self._defers is not None:
                decision = Decision(self._local_s(news.until_ms), news.made_ms, news.ended_ms)
                self._defers.hear(news.label, news.agent, decision)
            return
        used_s = min(now_s, self._local_s(news.used_ms))
        if used_s <= now_s - self.timeout_s:
            return
        activity = self._sessions.activity(news.group)
        use = activity.join(news.label, news.owner, news.weight, now_s)
        known_s = use.last_s if use.published_s != NEVER or use.waiting else NEVER
        use.last_s = max(used_s, known_s)
        use.published_s = max(use.published_s, used_s)
        if news.admitted_ms:
            admitted_s = min(now_s, self._local_s(news.admitted_ms))
            use.admitted_s = max(use.admitted_s, admitted_s)
            use.owner.admitted_s = max(use.owner.admitted_s, admitted_s)
            activity.admitted_s = max(activity.admitted_s, admitted_s)

    def _admitted(self, activity: Activity, use: KeyUse) -> None:
        self._fresh[use] = activity

    def _told(self, activity: Activity, use: KeyUse, now_s: float) -> UseNews:
        last_s = now_s if use.waiting else use.last_s
        use.published_s = last_s
        admitted_ms = 0 if use.admitted_s == NEVER else self._server_ms(use.admitted_s)
        return UseNews(
            activity.group, use.label, use.owner_name, use.owner.weight, self._server_ms(last_s), admitted_ms
        )

    def _server_ms(self, local_s: float) -> int:
        return int((local_s + self._offset_s) * 1000)

    def _local_s(self, server_ms: int) -> float:
        return server_ms / 1000 - self._offset_s

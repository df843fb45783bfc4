"""Queries for the figures of a finished run, on its Parquet files with DuckDB.

Nothing is loaded whole: DuckDB reads what a query needs, and the results are bounded by the limits below.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from tickmind.base import Limit
from tickmind.protocol import ActorStatus, GoalInfo, WorldSetting
from tickmind.protocol.record import AWAY
from tickmind.record.documents.places import zone_tiles
from tickmind.record.errors import DamagedRunError
from tickmind.record.parquet.schemas import (
    ACTION_RESULTS,
    ACTOR_STATE,
    GIFTS,
    INVENTORIES,
    LLM_CALLS,
    RULE_EVENTS,
    TICKS,
    UTTERANCES,
    TableSpec,
)
from tickmind.record.report.conversations import conversations
from tickmind.record.report.figures import (
    ActionFigures,
    AverageNeeds,
    CallMoment,
    Conversation,
    FailureFigures,
    GoalFigures,
    HeatMap,
    ItemFigures,
    ModelFigures,
    Outage,
    PresenceFigures,
    ScoreFigures,
    StayFigures,
    ZoneFigures,
)
from tickmind.record.report.opened_tables import OpenedTables
from tickmind.record.tables.world_files import ACTORS, MAP, WORLD_TABLES

POINTS: Final = 200  # on a time axis
HEAT_CELLS: Final = 160  # on the longer side of the map
MAX_OUTAGES: Final = Limit("outages in a report", 2000)
MAX_LINES: Final = Limit("utterances in a report", 100_000)
MAX_STAYS: Final = Limit("actors whose places are in a report", 1000)
REGULARS: Final = 5  # actors that are named for each zone
MAX_KINDS: Final = Limit("kinds of actions, failures, models, goals, scores or held items in a report", 1000)
FAILURES_IN_A_ROW: Final = 2  # that make an outage of a model
_VIEWS: Final[dict[str, tuple[TableSpec, tuple[str, ...]]]] = {  # name in queries -> table, and its columns
    "ticks": (TICKS, ("tick_id", "sim_time_ms")),
    "actor_state": (ACTOR_STATE, ("tick_id", "actor_id", "x", "y", "status_bits")),
    "action_results": (ACTION_RESULTS, ("action_type", "ok", "reason")),
    "utterances": (UTTERANCES, ("tick_id", "actor_id", "text", "x", "y")),
    "llm_calls": (
        LLM_CALLS,
        (
            *("tick_id", "actor_id", "model", "provider", "error_type"),
            *("latency_s", "prompt_tokens", "completion_tokens", "cost_usd"),
        ),
    ),
    "tiles": (WORLD_TABLES[MAP], ("x", "y", "walkable")),
    "actors": (WORLD_TABLES[ACTORS], ("actor_id",)),
    "inventories": (INVENTORIES, ("tick_id", "holder_id", "item", "quantity")),
    "rule_events": (RULE_EVENTS, ("tick_id", "name", "actor_id", "score", "ends", "own", "effects_json")),
    "gifts": (GIFTS, ("tick_id", "actor_id", "side", "item", "amount")),
}


class RunQueries:
    """Queries the files in one folder. Use it in `with`.

    DuckDB sees only the columns that were checked.
    """

    def __init__(self, folder: Path) -> None:
        self._tables = OpenedTables(folder, _VIEWS)
        self._database = self._tables.database

    def close(self) -> None:
        """Close the files."""
        self._tables.close()

    def __enter__(self) -> "RunQueries":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def span(self) -> tuple[int, int, int]:
        """Return the first tick, the last tick, and the world's time at the end."""
        first, last, time_ms = self._one("SELECT min(tick_id), max(tick_id), max(sim_time_ms) FROM ticks")
        return int(first or 0), int(last or 0), int(time_ms or 0)

    def utterances(self) -> int:
        """Return the number of utterances."""
        return int(self._one("SELECT count(*) FROM utterances")[0])

    def moments(self, first: int, last: int) -> tuple[AverageNeeds, ...]:
        """Return the states of actors over time. An actor counts once, by its worst state; one that is away never."""
        step = bucket(first, last)
        rows = self._all(
            """
            SELECT (tick_id - ?) // ? AS place, count(DISTINCT tick_id), count(present),
                   count(present) FILTER (status_bits & ? != 0),
                   count(present) FILTER (status_bits & ? = 0 AND status_bits & ? != 0),
                   count(present) FILTER (status_bits & ? = 0 AND status_bits & ? != 0)
            FROM (SELECT *, nullif(x, ?) AS present FROM actor_state)
            WHERE tick_id BETWEEN ? AND ? GROUP BY place ORDER BY place
            """,
            *(first, step, int(ActorStatus.UNCONTROLLED)),
            *(int(ActorStatus.UNCONTROLLED), int(ActorStatus.INCAPACITATED)),
            *(int(ActorStatus.UNCONTROLLED | ActorStatus.INCAPACITATED), int(ActorStatus.ASLEEP)),
            *(AWAY, first, last),
        )
        return tuple(
            AverageNeeds(
                tick_id=first + place * step,
                awake=(every - uncontrolled - incapacitated - asleep) / ticks,
                asleep=asleep / ticks,
                incapacitated=incapacitated / ticks,
                uncontrolled=uncontrolled / ticks,
            )
            for place, ticks, every, uncontrolled, incapacitated, asleep in rows
        )

    def presence(self) -> PresenceFigures:
        """Return how many actors came and left."""
        counts = self._one(
            """
            WITH seen AS (
                SELECT actor_id, x = $1 AS away, lag(x = $1) OVER (PARTITION BY actor_id ORDER BY tick_id) AS was_away
                FROM actor_state WHERE actor_id IN (SELECT actor_id FROM actor_state WHERE x = $1)
            )
            SELECT count(*) FILTER (was_away AND NOT away), count(*) FILTER (NOT was_away AND away),
                   (SELECT max(n) FROM (SELECT count(*) FILTER (x != $1) AS n FROM actor_state GROUP BY tick_id)),
                   (SELECT count(*) FROM (SELECT 1 FROM seen GROUP BY actor_id HAVING bool_and(away)))
            FROM seen
            """,
            AWAY,
        )
        return PresenceFigures(*map(int, counts))

    def actions(self) -> tuple[ActionFigures, ...]:
        """Return the actions, most frequent first."""
        rows = self._all(
            """
            SELECT action_type, count(*) AS tried, count(*) FILTER (ok) FROM action_results
            GROUP BY 1 ORDER BY tried DESC, 1 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        return tuple(ActionFigures(action, tried, worked) for action, tried, worked in rows)

    def failures(self) -> tuple[FailureFigures, ...]:
        """Return the failures by reason, most frequent first."""
        rows = self._all(
            """
            SELECT action_type, reason, count(*) AS failed FROM action_results WHERE NOT ok
            GROUP BY 1, 2 ORDER BY failed DESC, 1, 2 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        return tuple(FailureFigures(action, reason or "", count) for action, reason, count in rows)

    def items(self) -> tuple[ItemFigures, ...]:
        """Return what actors held and gave, by actor and item, most gifts first."""
        rows = self._all(
            """
            WITH held AS (
                SELECT holder_id AS actor_id, item, arg_min(quantity, tick_id) AS a, min(tick_id) AS since,
                       arg_max(quantity, tick_id) AS b
                FROM inventories WHERE holder_id IN (SELECT actor_id FROM actors) GROUP BY 1, 2
            ),
            handed AS (
                SELECT actor_id, item, sum(amount) FILTER (side = 'given') AS given,
                       sum(amount) FILTER (side = 'received') AS received
                FROM gifts GROUP BY 1, 2
            )
            SELECT actor_id, item, CASE WHEN since < (SELECT min(tick_id) FROM ticks) THEN a ELSE 0 END,
                   coalesce(b, 0), coalesce(given, 0), coalesce(received, 0)
            FROM held FULL JOIN handed USING (actor_id, item)
            ORDER BY coalesce(given, 0) + coalesce(received, 0) DESC, 1, 2 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        return tuple(ItemFigures(actor, item, *map(int, counts)) for actor, item, *counts in rows)

    def goals(self, goals: Sequence[GoalInfo]) -> tuple[GoalFigures, ...]:
        """Return what was reached and what rules of the user's own did, then those goals that were not reached."""
        conditions = {goal.name: goal.condition for goal in goals}
        rows = self._all(
            """
            SELECT name, own, min(tick_id) AS first, count(*), sum(score), max(CAST(ends AS INTEGER)) FROM rule_events
            WHERE own OR effects_json IS NULL GROUP BY 1, 2 ORDER BY first, 1 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        reached = [
            GoalFigures(name, "" if own else conditions.pop(name, ""), first, times, int(points), bool(ended), own)
            for name, own, first, times, points, ended in rows
        ]
        missed = [GoalFigures(name, condition, None, 0, 0, False) for name, condition in conditions.items()]
        return (*reached, *missed)

    def scores(self) -> tuple[ScoreFigures, ...]:
        """Return the scores of actors and of the world, highest first."""
        rows = self._all(
            """
            SELECT coalesce(actor_id, ''), sum(score) AS points FROM rule_events WHERE score != 0
            GROUP BY 1 ORDER BY points DESC, 1 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        return tuple(ScoreFigures(actor_id, int(points)) for actor_id, points in rows)

    def heat(self, width: int, height: int) -> HeatMap:
        """Return where actors were."""
        side = max(1, -(-max(width, height) // HEAT_CELLS))
        shape = -(-height // side), -(-width // side)
        counts, walkable = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        inside = (side, side, width, height)
        for y, x, count in self._all(
            "SELECT y // ?, x // ?, count(*) FROM actor_state WHERE x BETWEEN 0 AND ? - 1 AND y BETWEEN 0 AND ? - 1 "
            "GROUP BY 1, 2",
            *inside,
        ):
            counts[y, x] = count
        for y, x in self._all(
            "SELECT DISTINCT y // ?, x // ? FROM tiles WHERE x BETWEEN 0 AND ? - 1 AND y BETWEEN 0 AND ? - 1 "
            "AND walkable",
            *inside,
        ):
            walkable[y, x] = True
        return HeatMap(side, counts, walkable)

    def tally_stays(self, setting: WorldSetting, width: int, height: int) -> None:
        """Count the ticks of each actor in each zone, for `stays` and `zones`; ticks away do not count."""
        tiles, numbers = zone_tiles(setting, width, height)
        self._database.register("zone_tiles", pa.table({"tile": tiles, "zone": numbers}))
        self._all(
            """
            CREATE OR REPLACE TEMP TABLE stays AS
            SELECT actor_id, zone, count(*) AS ticks
            FROM actor_state LEFT JOIN zone_tiles
                ON tile = y::BIGINT * ? + x AND x BETWEEN 0 AND ? - 1
            WHERE x != ?
            GROUP BY actor_id, zone
            """,
            *(width, width, AWAY),
        )

    def stays(self, setting: WorldSetting, actor_ids: Sequence[str]) -> tuple[StayFigures, ...]:
        """Return where the first of these actors spent their time."""
        chosen = actor_ids[: int(MAX_STAYS.maximum)]
        shares: dict[str, list[tuple[str, float]]] = {}
        for actor_id, zone, share in self._all(
            """
            SELECT actor_id, zone, ticks / sum(ticks) OVER (PARTITION BY actor_id) AS share
            FROM stays WHERE actor_id IN (SELECT unnest(?)) ORDER BY share DESC, zone NULLS LAST
            """,
            list(chosen),
        ):
            shares.setdefault(actor_id, []).append(("" if zone is None else setting.zones[zone].name, share))
        return tuple(StayFigures(actor_id, tuple(shares[actor_id])) for actor_id in chosen if actor_id in shares)

    def zones(self, setting: WorldSetting) -> tuple[ZoneFigures, ...]:
        """Return who was in which zone, most time first."""
        regulars: dict[int, list[tuple[str, float]]] = {}
        for zone, actor_id, share in self._all(
            """
            SELECT zone, actor_id, ticks / sum(ticks) OVER (PARTITION BY zone) AS share
            FROM stays WHERE zone IS NOT NULL
            QUALIFY row_number() OVER (PARTITION BY zone ORDER BY ticks DESC, actor_id) <= ?
            ORDER BY share DESC, actor_id
            """,
            REGULARS,
        ):
            regulars.setdefault(zone, []).append((actor_id, share))
        counted = self._all("SELECT zone, count(*), sum(ticks) FROM stays WHERE zone IS NOT NULL GROUP BY zone")
        totals = {zone: (visitors, int(ticks)) for zone, visitors, ticks in counted}
        found = (
            ZoneFigures(zone.name, zone.owner, zone.purpose, *totals.get(at, (0, 0)), tuple(regulars.get(at, ())))
            for at, zone in enumerate(setting.zones)
        )
        return tuple(sorted(found, key=lambda zone: -zone.actor_ticks))

    def conversations(self, hearing_radius: int) -> tuple[Conversation, ...]:
        """Return the conversations, longest first."""
        said = self._all(
            "SELECT tick_id, actor_id, text, x, y FROM utterances ORDER BY tick_id, actor_id LIMIT ?",
            int(MAX_LINES.maximum),
        )
        talks = conversations(said, hearing_radius)
        return tuple(sorted(talks, key=lambda talk: (-len(talk.lines), talk.first_tick_id)))

    def models(self) -> tuple[ModelFigures, ...]:
        """Return the figures of models, most used first."""
        rows = self._all(
            """
            SELECT model, provider, count(*) AS calls, count(*) FILTER (error_type != ''),
                   coalesce(quantile_cont(latency_s, 0.5), 0), coalesce(quantile_cont(latency_s, 0.95), 0),
                   coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cost_usd), 0)
            FROM llm_calls GROUP BY 1, 2 ORDER BY calls DESC, 1, 2 LIMIT ?
            """,
            int(MAX_KINDS.maximum),
        )
        return tuple(
            ModelFigures(model, provider, calls, failed, p50, p95, int(tokens_in), int(tokens_out), float(cost))
            for model, provider, calls, failed, p50, p95, tokens_in, tokens_out, cost in rows
        )

    def calls(self, first: int, last: int) -> tuple[CallMoment, ...]:
        """Return model calls over time."""
        step = bucket(first, last)
        rows = self._all(
            """
            SELECT (tick_id - ?) // ? AS place, count(*) FILTER (error_type = ''), count(*) FILTER (error_type != ''),
                   coalesce(quantile_cont(latency_s, 0.5) FILTER (error_type = ''), 0)
            FROM llm_calls WHERE tick_id BETWEEN ? AND ? GROUP BY place ORDER BY place
            """,
            *(first, step, first, last),
        )
        moments = {place: (good, bad, latency) for place, good, bad, latency in rows}
        places = range((last - first) // step + 1) if moments else ()
        return tuple(CallMoment(first + place * step, *moments.get(place, (0, 0, 0.0))) for place in places)

    def outages(self, first: int) -> tuple[Outage, ...]:
        """Return times without a model or an agent, longest first. An actor that was never controlled has none."""
        models = self._all(
            """
            WITH named AS (
                SELECT tick_id, model, error_type, error_type != '' AS bad,
                       row_number() OVER (PARTITION BY model ORDER BY tick_id, actor_id)
                       - row_number() OVER (PARTITION BY model, error_type != '' ORDER BY tick_id, actor_id) AS streak
                FROM llm_calls WHERE model != ''
            ),
            -- A call that failed may not know its model: the next answer of any model is the end of that.
            every AS (
                SELECT tick_id, model, error_type, error_type != '' AS bad,
                       row_number() OVER (ORDER BY tick_id, actor_id)
                       - row_number() OVER (PARTITION BY error_type != '' ORDER BY tick_id, actor_id) AS streak
                FROM llm_calls
            ),
            numbered AS (SELECT * FROM named UNION ALL SELECT * FROM every WHERE model = '')
            SELECT model, min(tick_id), max(tick_id), count(*), mode(error_type)
            FROM numbered WHERE bad GROUP BY model, streak HAVING count(*) >= ?
            ORDER BY max(tick_id) - min(tick_id) DESC, 2, 1 LIMIT ?
            """,
            *(FAILURES_IN_A_ROW, int(MAX_OUTAGES.maximum)),
        )
        agents = self._all(
            """
            WITH numbered AS (
                SELECT actor_id, tick_id, tick_id - row_number() OVER (PARTITION BY actor_id ORDER BY tick_id) AS streak
                FROM actor_state WHERE status_bits & ? != 0 AND x != ?
            ),
            streaks AS (SELECT actor_id, min(tick_id) AS a, max(tick_id) AS b FROM numbered GROUP BY actor_id, streak)
            SELECT actor_id, a, b FROM streaks  -- not those that wait for an agent since they arrived
            WHERE a > ? AND (actor_id, a - 1) NOT IN (SELECT (actor_id, tick_id) FROM actor_state WHERE x = ?)
            ORDER BY b - a DESC, a, actor_id LIMIT ?
            """,
            *(int(ActorStatus.UNCONTROLLED), AWAY, first, AWAY, int(MAX_OUTAGES.maximum)),
        )
        outages = [
            Outage("model", model or "without a name", a, b, f"{calls} calls failed: {kind}")
            for model, a, b, calls, kind in models
        ]
        outages += [Outage("agent", actor, a, b) for actor, a, b in agents]
        return tuple(sorted(outages, key=lambda outage: (-outage.ticks, outage.first_tick_id, outage.name)))

    def _one(self, question: str, *values: Any) -> tuple[Any, ...]:
        return self._all(question, *values)[0]

    def _all(self, question: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        try:
            return self._database.execute(question, values).fetchall()
        except duckdb.Error as error:
            raise DamagedRunError(f"the run's files can't be read: {str(error).splitlines()[0]}") from error


def bucket(first: int, last: int) -> int:
    """Return how many ticks one point of a chart covers."""
    return max(1, -(-(last - first + 1) // POINTS))

"""Reads the figures of a finished run, query by query."""

from collections.abc import Callable
from pathlib import Path

from tickmind.base.files import runs_option
from tickmind.record.disk import OsDisk, reading_fault
from tickmind.record.documents.places import display_names
from tickmind.record.errors import DamagedRunError, NoSuchRunError, RunNotFinishedError
from tickmind.record.meta import read_meta
from tickmind.record.parquet.file import TableFile, native_file
from tickmind.record.parquet.schemas import TICKS, TableSpec
from tickmind.record.report.figures import PresenceFigures, RunFigures, StayFigures, ZoneFigures
from tickmind.record.report.noted import noted_outages
from tickmind.record.report.people import person_figures
from tickmind.record.report.queries import RunQueries
from tickmind.record.tables.world_files import check_sizes, read_goals, read_people, read_setting


def read_figures(folder: Path, *, progress: Callable[[str], None] = lambda _what: None) -> RunFigures:
    """Return all figures of the run in a folder; calls `progress` with each step, since a large run takes a while."""
    meta, world = read_meta(OsDisk(), folder)
    if not meta.finished:
        named = f"{meta.run_id}{runs_option(folder.parent)}"
        raise RunNotFinishedError(
            f"run {meta.run_id} is not finished; wait for its end, or if no process runs it any more: "
            f"`tickmind world --resume {named}` continues it, `tickmind recover {named}` finishes it for good"
        )
    check_sizes(world)
    width, height, hearing_radius = (world.get(name) for name in ("width", "height", "hearing_radius"))
    if type(width) is not int or type(height) is not int or type(hearing_radius) is not int or hearing_radius < 0:
        raise DamagedRunError("meta.json lacks the hearing radius of the world")
    if meta.stored_at and TICKS.file_name not in OsDisk().list(folder):
        raise NoSuchRunError(
            f"the finished files of run {meta.run_id} are at {meta.stored_at[:500]!r}; copy them to a folder of this "
            "machine, and name the folder above them with --runs"
        )
    known_goals = read_goals(world)
    with RunQueries(folder) as ask:
        progress("ticks")
        first, last, sim_time_ms = ask.span()
        progress("actors over time")
        moments = ask.moments(first, last)
        presence = ask.presence() if meta.absences else PresenceFigures(most=int(world["actors"]))
        progress("actions")
        actions, failures = ask.actions(), ask.failures()
        progress("items")
        items = ask.items()
        progress("goals")
        rules, scores = ask.goals(known_goals), ask.scores()
        progress("places")
        heat = ask.heat(width, height)
        progress("people")
        setting, actors = read_setting(world), read_people(world, lambda spec: _open(folder, spec))
        stays: tuple[StayFigures, ...] = ()
        zones: tuple[ZoneFigures, ...] = ()
        if setting.zones:
            ask.tally_stays(setting, width, height)
            stays = ask.stays(setting, [actor_id for actor_id, _ in sorted(actors, key=lambda each: each[1] is None)])
            zones = ask.zones(setting)
        progress("conversations")
        talks = ask.conversations(hearing_radius)
        progress("model calls")
        models, calls = ask.models(), ask.calls(first, last)
        progress("outages")
        outages = (*noted_outages(folder), *ask.outages(first))
        return RunFigures(
            run_id=meta.run_id,
            world=str(world.get("name", "")),
            world_version=meta.world_version,
            created_at=meta.created_at,
            recovered=meta.recovered,
            width=width,
            height=height,
            first_tick_id=first,
            last_tick_id=last,
            sim_time_ms=sim_time_ms,
            actors=int(world["actors"]),
            utterances=ask.utterances(),
            moments=moments,
            actions=actions,
            failures=failures,
            heat=heat,
            conversations=talks,
            models=models,
            calls=calls,
            outages=outages,
            items=items,
            setting=setting,
            people=person_figures(actors),
            names=display_names(actors),
            stays=stays,
            zones=zones,
            goals=tuple(rule for rule in rules if not rule.own),
            own_rules=tuple(rule for rule in rules if rule.own),
            scores=scores,
            presence=presence,
        )


def _open(folder: Path, spec: TableSpec) -> TableFile:
    try:
        return TableFile(native_file(OsDisk().open(folder / spec.file_name)), spec)
    except OSError as error:
        raise reading_fault(spec.file_name, error) from error

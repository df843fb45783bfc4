"""Writes `run_N/`, a small run in both forms, and what is in it: `python tests/golden/make_run.py N`.

A folder that was written once is never written again: it stands for the runs that users have. When the schema of the
log or of the finished tables changes, write the next number and keep the tests of the earlier ones.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from tickmind.base import ManualClock
from tickmind.protocol import (
    ActionInfo,
    Effect,
    ItemInfo,
    KindInfo,
    ObjectDelta,
    ObjectInfo,
    RuleEvent,
    TickRecord,
    WorldInfo,
    WorldSetting,
)
from tickmind.protocol.record import AWAY
from tickmind.record import LogOptions, RunPace, RunParent, RunReader, RunStore, SyncPolicy
from tickmind.record.testing import RandomRun

FOLDER = Path(__file__).parent
TICKS = 24
_SHED = {4: "8,9", 17: ""}  # tick -> where it is then


def plain(record: TickRecord) -> dict[str, Any]:
    """A tick as JSON says it."""
    state, results, intents, needs = record.actor_state, record.results, record.intents, record.needs
    return {
        "tick_id": record.tick_id,
        "sim_time_ms": record.sim_time_ms,
        "world_version": record.world_version,
        "state_hash": record.state_hash.hex(),
        "actors": [getattr(state, name).tolist() for name in ("x", "y", "status_bits", "facing")],
        "results": [getattr(results, name).tolist() for name in ("actor", "action", "reason")],
        "targets": [[place, name] for place, name in sorted(results.target_ids.items())],
        "effects": [[place, list(map(dataclasses.astuple, one))] for place, one in sorted(results.effects.items())],
        "utterances": list(map(dataclasses.astuple, record.utterances)),
        "object_deltas": list(map(dataclasses.astuple, record.object_deltas)),
        "intents": [
            getattr(intents, name).tolist() for name in ("actor", "action", "direction", "kind", "amount", "target")
        ],
        "texts": [[place, list(said)] for place, said in sorted(intents.texts.items())],
        **({"wanted": sorted([place, *goods] for place, goods in intents.wanted.items())} if intents.wanted else {}),
        "controlled": None if record.controlled is None else record.controlled.tolist(),
        **({} if needs is None else {"needs": [needs.actor.tolist(), needs.energy.tolist(), needs.hunger.tolist()]}),
        **({} if needs is None or needs.own is None else {"own_needs": needs.own.tolist()}),
        **({"rule_events": list(map(dataclasses.astuple, record.rule_events))} if record.rule_events else {}),
        **({"placements": list(map(dataclasses.astuple, record.placements))} if record.placements else {}),
    }


def _as_before(status: dict[str, Any]) -> dict[str, Any]:
    """A status as earlier versions kept it, if it has nothing more."""
    return {
        name: value for name, value in status.items() if name not in ("turns", "dropped_reports", "program") or value
    }


def _thought_as_before(report: dict[str, Any]) -> dict[str, Any]:
    """A thought as earlier versions kept it, if it was not late and about a plan."""
    later = ("late", "kind", "cached_tokens")
    thought = {name: value for name, value in report["thought"].items() if name not in later or value}
    return {**report, "thought": thought}


def _parent(parent: RunParent) -> dict[str, Any]:
    found = dataclasses.asdict(parent)
    if not parent.changes:
        del found["changes"]  # earlier versions did not keep any
    return found


def content(reader: RunReader) -> Any:
    """All that a run holds, as JSON says it."""
    info = {**dataclasses.asdict(reader.info), "floor_codes": reader.info.floor_codes.hex()}
    if not reader.info.ground:
        del info["ground"]  # earlier versions did not keep it
    if reader.info.seed is None:
        del info["seed"]  # nor that
    if reader.info.inventories is None:
        del info["inventories"]  # nor that
    if not reader.info.goals:
        del info["goals"]  # nor that
    for later in ("own_needs", "items"):
        if not info[later]:
            del info[later]  # nor that
    meta = reader.meta
    if reader.info.setting == WorldSetting():
        del info["setting"]  # nor that
    for actor in info["actors"]:
        if actor["persona"] is None:
            del actor["persona"]  # nor that
    for floor in info["floors"]:
        if not (floor["energy"] or floor["hunger"]):
            del floor["energy"], floor["hunger"]  # nor that
        if floor["step_ticks"] == 1:
            del floor["step_ticks"]  # nor that
        if not floor["own_needs"]:
            del floor["own_needs"]  # nor that
    for thing in info["objects"]:
        if not thing["owner"]:
            del thing["owner"]  # nor that
    for kind, known in zip(info["kinds"], reader.info.kinds, strict=True):
        if all(action == ActionInfo(action.verb) for actions in known.actions for action in actions):
            del kind["actions"]  # nor that: they kept verbs only
            kind["verbs"] = known.verbs
        if known.container is None:
            del kind["container"]  # nor that
        if not known.each_tick:
            del kind["each_tick"]  # nor that
        if known.build is None:
            del kind["build"], kind["most_built"]  # nor that
        if known.size == (1, 1):
            del kind["size"]  # nor that
        if not known.doubling_ticks:
            del kind["doubling_ticks"]  # nor that
        for action in (action for actions in kind.get("actions", ()) for action in actions):
            if not action["removes"]:
                del action["removes"]  # nor that
    quantities = [dataclasses.asdict(one) for one in reader.inventories()]
    insights = [
        {**dataclasses.asdict(one), "node_statuses": list(one.node_statuses or b"")} for one in reader.insights()
    ]
    for note in (note for insight in insights for note in insight["memories"]):
        for later, nothing in (("kind", ""), ("told_by", ""), ("times", 1), ("number", 0), ("evidence", ())):
            if note[later] == nothing:
                del note[later]  # nor that
    found = {
        "info": info,
        "ticks": list(map(plain, reader.records())),
        "thoughts": [_thought_as_before(dataclasses.asdict(one)) for one in reader.thoughts()],
        "statuses": [_as_before(dataclasses.asdict(one)) for one in reader.statuses()],
        **({"insights": insights} if insights else {}),
        **({"quantities": quantities} if quantities else {}),
        **({"parent": _parent(meta.parent)} if meta.parent else {}),
        **({"pace": dataclasses.asdict(meta.pace)} if meta.pace else {}),
    }
    return json.loads(json.dumps(found))


def described(info: WorldInfo) -> WorldInfo:
    """The world of a random run, with floors and objects that change needs, items that decay, and a shed to build."""
    (grass, *others), (berries, wood) = info.floors, info.item_kinds
    shed = KindInfo(
        "shed",
        ("plain",),
        (False,),
        (True,),
        ((ActionInfo("smash", removes=True),),),
        each_tick=((("warmth", 20), ("energy", 1)),),
        build=ActionInfo("build", consumes=((wood, 2),)),
        most_built=1,
        size=(2, 1),
    )
    return dataclasses.replace(
        info,
        floors=(dataclasses.replace(grass, own_needs=(("warmth", -1),)), *others),
        items=(ItemInfo(berries, (("hunger", -100), ("health", 5)), 40, ((wood, 1),)), ItemInfo(wood)),
        kinds=(*info.kinds, shed),
        objects=(*info.objects, ObjectInfo("shed:1", "shed", AWAY, AWAY, "plain")),
    )


def with_more(record: TickRecord) -> TickRecord:
    """A random tick in which berries decay now and then, and a shed is built and removed."""
    events, deltas = record.rule_events, record.object_deltas
    if record.tick_id % 3 == 0:
        effects = Effect("inventory.berries", -1), Effect("inventory.wood", 1)
        events = (RuleEvent("decay", tuple(record.actor_ids[:2]), effects=effects), *events)
    if record.tick_id in _SHED:
        deltas = (ObjectDelta("shed:1", "tile", _SHED[record.tick_id]), *deltas)
    return dataclasses.replace(record, rule_events=events, object_deltas=deltas)


def main() -> None:
    """Write the next folder."""
    folder = FOLDER / f"run_{int(sys.argv[1])}"
    if folder.exists():
        raise SystemExit(f"{folder} was written before and must not change")
    store = RunStore(folder, clock=ManualClock())
    options = LogOptions(sync=SyncPolicy.NEVER, keyframe_ticks=5, segment_ticks=10)
    for run_id in ("finished", "crashed"):
        run = RandomRun(19, 6, side=20, wild=0.3, own_needs=("warmth", "health"))
        log = store.create(described(run.info), run_id, options=options, parent=RunParent("an-earlier-run", 12))
        log.pace = RunPace(lockstep=False, tps=2.5)
        for _ in range(TICKS):
            log.thought(run.thought())
            log.status(run.status())
            log.insight(run.insight())
            log.publish(with_more(run.tick()))
        log.close(seal=run_id == "finished")
    last = max((folder / "crashed" / "live").iterdir())
    last.write_bytes(last.read_bytes()[:-30])  # as a crash leaves it
    with store.open("finished") as reader:
        (folder / "content.json").write_text(json.dumps(content(reader), ensure_ascii=False) + "\n", encoding="utf-8")
    for lock in folder.rglob("lock"):
        lock.unlink()


if __name__ == "__main__":
    main()

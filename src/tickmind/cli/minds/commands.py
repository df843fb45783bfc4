"""`tickmind mind`: one mind of a recorded run at a tick, whole, as text or JSON."""

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tickmind.base import ConfigError, redact
from tickmind.base.files import RUNS_FOLDER
from tickmind.cli.minds.program_output import programs_print_to_stderr
from tickmind.cli.runs.commands import Folder, RunAgents, RunId
from tickmind.cli.screen import harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.agent import CharacterHost
    from tickmind.lab.minds.relived import Fidelity

PROGRESS_TICKS = 500
MAX_DEPTH = 32  # of the values that are shown


def mind(
    run_id: RunId,
    who: Annotated[str, typer.Argument(help="The id of the actor.")],
    tick: Annotated[
        int | None, typer.Option(min=1, help="The tick after which to look; the last one if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    agents: RunAgents = None,
    folder: Folder = RUNS_FOLDER,
) -> None:
    """Print a mind as it was after a tick: plan, Blackboard, tree and all memories.

    The run is lived again up to that tick, with its recorded thoughts and without a world or a model. The last lines
    say how many intents and prompts came out as recorded.
    """
    from tickmind.agent import CharacterHost
    from tickmind.lab.minds.relived import RelivedMinds
    from tickmind.record import RunStore

    store = RunStore(folder)
    with store.open(run_id) as run, programs_print_to_stderr():
        if run.last_tick_id is None or (tick is not None and tick > run.last_tick_id):
            raise ConfigError(f"run {run_id} ends with tick {run.last_tick_id or 0}; choose one up to it")
        minds = RelivedMinds(store, run, [who], agents=agents)
        fidelity = minds.live(tick, show_progress(tick or run.last_tick_id))
        host = minds.host_of(who)
        if not isinstance(host, CharacterHost):
            raise ConfigError(f"{who} has no mind that can be shown: its agent is no Character")
        last = tick or run.last_tick_id
        if who not in host.entity_ids:
            raise ConfigError(f"the agent of {who} took part in no tick up to {last}")
        row = next(row for row, actor in enumerate(run.info.actors) if actor.entity_id == who)
        facts = _facts(host, who, run_id, last, fidelity, away=not run.state_at(last).present[row])
    typer.echo(json.dumps(facts, indent=2) if as_json else harmless(_text(facts)))


def show_progress(last: int) -> "Callable[[int], None]":
    """Return what prints now and then how many ticks were lived again."""

    def show(tick_id: int) -> None:
        if tick_id % PROGRESS_TICKS == 0 and tick_id < last:
            typer.echo(f"lived {tick_id:,} of {last:,} ticks again", err=True)

    return show


def _facts(
    host: "CharacterHost[Any]", who: str, run_id: str, tick: int, fidelity: "Fidelity", *, away: bool
) -> dict[str, Any]:
    state, character = host.mind(who), host.character(who)
    return {
        "run": run_id,
        "actor": who,
        "tick": tick,
        "at": None if away else list(character.at),
        "plan": plain(dict(character.plan)),
        "plan_tick": character.plan_tick,
        "blackboard": plain(dict(state.board)),
        "tree": [
            {
                "depth": depth,
                "node": redact(words),
                "status": status.name.lower() if (status := state.statuses.get(at)) else None,
            }
            for at, (depth, words) in enumerate(state.tree)
        ],
        "memories": [
            {
                "tick": entry.tick,
                "kind": entry.kind,
                "text": redact(entry.text),
                "importance": entry.importance,
                "about": entry.about,
                "told_by": entry.told_by,
                "times": entry.times,
                "number": entry.number,
                "evidence": entry.evidence,
            }
            for entry in state.memories
        ],
        "lived_again": {
            "intents": fidelity.intents,
            "equal_intents": fidelity.equal_intents,
            "prompts": fidelity.prompts,
            "equal_prompts": fidelity.equal_prompts,
            "differences": fidelity.differences,
        },
    }


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value of a mind as JSON can hold it, without secrets; what JSON does not know becomes text."""
    if depth > MAX_DEPTH:
        return "…"
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {redact(str(key)): plain(each, depth + 1) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each, depth + 1) for each in value]
        case _:
            return redact(str(value))


def _text(facts: dict[str, Any]) -> str:
    place = f"at {tuple(facts['at'])}" if facts["at"] else "away"
    lines = [f"{facts['actor']} after tick {facts['tick']:,} of {facts['run']}, {place}"]
    if facts["plan"]:
        lines.append(f"plan, asked for in tick {facts['plan_tick']}:")
        lines += [f"  {name}: {value}" for name, value in facts["plan"].items()]
    lines.append("tree:")
    lines += [f"  {'  ' * node['depth']}{node['node']}{_status(node['status'])}" for node in facts["tree"]]
    lines.append("Blackboard:")
    lines += [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts["blackboard"].items()]
    lines.append(f"{len(facts['memories'])} memories:")
    lines += [f"  tick {one['tick']}: {one['text']}{_source(one)}" for one in facts["memories"]]
    lived = facts["lived_again"]
    lines.append(
        f"lived again: {lived['equal_intents']:,} of {lived['intents']:,} intents and "
        f"{lived['equal_prompts']:,} of {lived['prompts']:,} prompts as recorded"
    )
    lines += [f"  {difference}" for difference in lived["differences"]]
    return "\n".join(lines)


def _status(status: str | None) -> str:
    return f" [{status}]" if status else ""


def _source(memory: dict[str, Any]) -> str:
    """Return from whom a memory is known, and how often it was experienced, in words."""
    told = f" (told by {memory['told_by']})" if memory["told_by"] else ""
    return f"{told} ({memory['times']} times)" if memory["times"] > 1 else told

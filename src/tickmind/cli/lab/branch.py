"""`tickmind branch`: a new run whose past is that of another run up to a tick, with something changed there."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.files import RUNS_FOLDER, read_at_most, replace_file, runs_option
from tickmind.cli.lab.branch_id import free_branch_id
from tickmind.cli.runs.commands import Folder, RunAgents, RunId

if TYPE_CHECKING:
    from tickmind.agent.contract import Launch
    from tickmind.cli.world.run import WorldRun
    from tickmind.record import RunChange, RunReader, RunStore
    from tickmind.world import Scenario

CHECKPOINT_TICKS = 60
_INVENTORY = re.compile(r"(?P<who>.+)\.inventory\.(?P<what>[^.]+)")
_PERSONA = re.compile(r"(?P<who>.+)\.persona\.(?P<what>[^.]+)")
_STATE = re.compile(r"(?P<who>.+)\.state")
_RULE = re.compile(r"rules\.(?P<what>[a-z_]+)")


class BranchReplies(StrEnum):
    """Where the replies of models come from after the tick of a branch."""

    ANEW = "anew"
    KEEP = "keep"


def branch(
    run_id: RunId,
    tick: Annotated[int, typer.Option(min=0, help="The last tick of the common past; 0 is the beginning.")],
    ticks: Annotated[
        int | None, typer.Option(min=1, help="How many ticks it goes on; as many as the run has left if left out.")
    ] = None,
    say: Annotated[
        list[str] | None,
        typer.Option(metavar="WHO=TEXT", help="An actor says this in the next tick, in place of what it decides."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="WHAT=VALUE",
            help="WHO.inventory.ITEM=NUMBER, OBJECT.state=STATE, WHO.persona.FIELD=TEXT or rules.RULE=NUMBER.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="WHO", help="An actor leaves the world with the next tick.")
    ] = None,
    remember: Annotated[list[str] | None, typer.Option(metavar="WHO=TEXT", help="Plant a memory.")] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(metavar="WHO=NUMBER", help="Remove a memory, by its number in `tickmind mind --json`."),
    ] = None,
    model: Annotated[str, typer.Option(help="Ask this model from the next tick on.")] = "",
    gateway: Annotated[
        str, typer.Option(metavar="URL", help="The gateway to ask; the model at LLM_BASE_URL if left out.")
    ] = "",
    replies: Annotated[
        BranchReplies,
        typer.Option(help="Ask models anew after the tick, or keep recorded replies wherever the prompt is the same."),
    ] = BranchReplies.ANEW,
    new_run_id: Annotated[
        str | None, typer.Option("--run-id", help="The name of the new run; RUN-at-TICK if left out.")
    ] = None,
    agents: RunAgents = None,
    folder: Folder = RUNS_FOLDER,
) -> None:
    """Begin a new run out of another: its past up to a tick exactly, then what comes of it with something changed.

    The past is lived again, world and minds, with the recorded thoughts. If anything of it comes out otherwise, the
    first tick and character are named and there is no branch. The new run goes on in lockstep.
    """
    from tickmind.lab.branching.plan import check_changes
    from tickmind.record import RunStore

    changes = [
        *_named(tick, "say", say),
        *(_setting(tick, each) for each in set_ or ()),
        *(_change(tick, "remove", who) for who in remove or ()),
        *_named(tick, "remember", remember),
        *_named(tick, "forget", forget),
        *([_change(tick, "model", "", value=model)] if model else ()),
    ]
    store = RunStore(folder)
    with store.open(run_id) as run:
        model = model or _inherited_model(run, tick)
        last = run.last_tick_id or 0
        if tick > last:
            raise ConfigError(f"run {run_id} ends with tick {last:,}; branch it after that or an earlier one")
        going_on = ticks if ticks is not None else last - tick
        if not going_on:
            raise ConfigError(f"run {run_id} ends with tick {last:,}, so name how long to go on: --ticks 100")
        check_changes(run, changes)
        branch_id = new_run_id or free_branch_id(store, run_id, tick)
        done, asked = _live(
            store, run, branch_id, tick, going_on, changes, model, gateway, agents, folder, keeps=replies == "keep"
        )
    own = f"{done:,} of its own, in which models were asked {asked:,} times"
    typer.echo(f"Run {branch_id} has the {tick:,} ticks of {run_id}, and {own}.")
    typer.echo(f"`tickmind runs compare {run_id} {branch_id}{runs_option(folder)}` names the first difference.")


def _live(
    store: "RunStore",
    run: "RunReader",
    branch_id: str,
    tick: int,
    ticks: int,
    changes: "Sequence[RunChange]",
    model: str,
    gateway: str,
    agents: Path | None,
    folder: Path,
    *,
    keeps: bool,
) -> tuple[int, int]:
    """Live the branch; return its own ticks, and how often models were asked in them."""
    from tickmind.cli.minds.commands import show_progress
    from tickmind.cli.runs.sealing_progress import SealingProgress
    from tickmind.cli.world.own_rules import load_own_rules
    from tickmind.lab.branching.branch import Branch
    from tickmind.lab.branching.played_model import ContinuedPast
    from tickmind.lab.minds.relived import RelivedMinds
    from tickmind.server.checkpoint import Checkpoint, save_checkpoint
    from tickmind.world import TileWorld

    def launch_of(launch: "Launch") -> "Launch":
        named = launch.settings.with_values({"model": model} if model else {})
        return replace(launch, settings=named, gateway_url=gateway, session=branch_id)

    past = ContinuedPast.of(run, tick, launch_of, keeps=keeps)
    minds = RelivedMinds(store, run, agents=agents, source=past)
    if past.lacks_model and not keeps:
        raise ConfigError(
            "there is no model to ask after that tick: set LLM_BASE_URL, name a gateway with --gateway URL, or keep "
            "the recorded replies wherever the prompt is the same with --replies keep"
        )
    rules = load_own_rules(minds.scenario.own_rules)  # of installed packages, as for any world that runs
    new = _begin(store, run, minds.scenario, branch_id, tick, changes, agents, folder)
    show = show_progress(tick + ticks)

    def on_tick(world: TileWorld) -> None:
        done = world.tick_id - 1
        show(done)
        if done % CHECKPOINT_TICKS == 0 or done == tick:
            save_checkpoint(new.checkpoints, Checkpoint(1, world.tick_id, world.snapshot()))

    branched = Branch(run, minds, past, new.log, new.scenario, own_rules=rules, changes=changes, on_tick=on_tick)
    try:
        save_checkpoint(new.checkpoints, Checkpoint(1, 1, branched.world.snapshot()))
        branched.live_past()
        done = branched.go_on(ticks)
        save_checkpoint(new.checkpoints, Checkpoint(1, branched.world.tick_id, branched.world.snapshot()))
    except BaseException:
        new.abandon()
        shutil.rmtree(store.folder(branch_id), ignore_errors=True)
        raise
    finally:
        branched.close()
    if past.lacks_model and past.recorded.asked:
        why = "no recorded reply fits, and there is no model; set LLM_BASE_URL, or use --gateway URL"
        typer.echo(f"{past.recorded.asked:,} questions had no answer: {why}", err=True)
    with SealingProgress(branch_id) as sealing:
        new.finish(sealing.show)
    return done, past.recorded.asked


def _begin(
    store: "RunStore",
    run: "RunReader",
    scenario: "Scenario",
    branch_id: str,
    tick: int,
    changes: "Sequence[RunChange]",
    agents: Path | None,
    folder: Path,
) -> "WorldRun":
    """Begin the new run, with the scenario and the mapping of its parent."""
    from tickmind.cli.world.run import WorldRuns
    from tickmind.cli.world.scenarios import TILE_ART
    from tickmind.lab.branching.plan import with_changes
    from tickmind.record import RunParent
    from tickmind.record.limits import MAX_CHANGES
    from tickmind.record.replay.run_files import AGENTS, KEPT_FROM, SCENARIO
    from tickmind.world.scenario.limits import MAX_TILE_ART_BYTES
    from tickmind.world.scenario.scenario_reader import scenario_text

    parent = store.folder(run.run_id)
    inherited = () if run.meta.parent is None else run.meta.parent.changes
    shared = tuple(change for change in inherited if change.tick_id < tick)
    mapping: str | None = None
    if agents is not None:
        mapping = f"{KEPT_FROM}{agents.resolve()}\n{scenario_text(agents)}"
    elif (parent / AGENTS).is_file():
        mapping = scenario_text(parent / AGENTS)
    MAX_CHANGES.check(len(shared) + len(changes))
    dropped = tuple(change for change in inherited if change.tick_id >= tick)
    new = WorldRuns(folder).begin(
        with_changes(scenario_text(parent / SCENARIO), scenario.interventions, changes, dropped),
        str(parent / SCENARIO),
        branch_id,
        tick_ms=run.info.tick_duration_ms,
        seed=run.info.seed,
        agents=mapping,
        folder=parent,
        parent=RunParent(run.run_id, tick, (*shared, *changes)),
    )
    if (parent / TILE_ART).is_file() and not (parent / TILE_ART).is_symlink():  # a link may lead to anything
        art = read_at_most(parent / TILE_ART, int(MAX_TILE_ART_BYTES.maximum))
        replace_file(store.folder(branch_id) / TILE_ART, art)
    new.log.pace = run.meta.pace
    return new


def _inherited_model(run: "RunReader", tick: int) -> str:
    """Return the model that a branch was given in the past that is shared; empty if none was."""
    changes = () if run.meta.parent is None else run.meta.parent.changes
    return next((change.value for change in reversed(changes) if change.kind == "model" and change.tick_id < tick), "")


def _change(tick: int, kind: str, who: str, what: str = "", value: str = "") -> "RunChange":
    from tickmind.record import RunChange

    return RunChange(tick, kind, who, what, value)


def _named(tick: int, kind: str, texts: "Sequence[str] | None") -> "list[RunChange]":
    """Return the changes that options of the form WHO=TEXT mean."""
    changes = []
    for text in texts or ():
        who, equals, value = text.partition("=")
        if not (who and equals):
            raise ConfigError(f'--{kind} takes the id of an actor, "=" and a value, as in ada=..., not {text!r}')
        changes.append(_change(tick, kind, who, value=value))
    return changes


def _setting(tick: int, text: str) -> "RunChange":
    """Return the change that `--set` means; raises `ConfigError` with what is possible."""
    path, equals, value = text.partition("=")
    for kind, pattern in (("rule", _RULE), ("item", _INVENTORY), ("persona", _PERSONA), ("state", _STATE)):
        if equals and (match := pattern.fullmatch(path)):
            parts = match.groupdict()
            return _change(tick, kind, parts.get("who", ""), parts.get("what", ""), value)
    raise ConfigError(
        f"--set {text!r} can't be done; possible are WHO.inventory.ITEM=NUMBER, OBJECT.state=STATE, "
        "WHO.persona.FIELD=TEXT and rules.RULE=NUMBER; besides there are --say, --remember, --forget, --remove and "
        "--model"
    )

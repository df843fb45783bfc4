"""Options of runs that repeat: lockstep, and files of replies."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.cli.world.agents import characters_with_agents

if TYPE_CHECKING:
    from tickmind.agent.contract import KeptReplies
    from tickmind.runner import RunnerMapping
    from tickmind.world import Scenario

Lockstep = Annotated[
    bool,
    typer.Option(
        "--lockstep", help="Wait for all minds and their models, not for the clock: a run repeats with its seed."
    ),
]
Replies = Annotated[
    tuple[str, Path] | None,
    typer.Option(
        metavar="MODE FILE",
        help="Keep every model call in a new file (record), play them without a model (replay), "
        "or play them and ask a model for what is missing (fill).",
    ),
]


class ReplyMode(StrEnum):
    """What `--replies` does with its file."""

    RECORD = "record"
    REPLAY = "replay"
    FILL = "fill"


@dataclass(frozen=True, slots=True)
class PlayedReplies:
    """How a run went by a file of replies."""

    thoughts: int
    unplayed: tuple[str, ...]  # why thoughts were not answered from the file: it lacked a call, or had another prompt

    def text(self) -> str:
        """Return it in words."""
        if not self.unplayed:
            return f"All {self.thoughts:,} thoughts went by the file of replies."
        return (
            f"{len(self.unplayed):,} of {self.thoughts:,} thoughts could not be played, so this is another run; "
            f"the first: {self.unplayed[0]}"
        )


def played_replies(runs: Path, run_id: str, replies: "KeptReplies") -> PlayedReplies:
    """Count the thoughts of a run that a file of replies had no answer for."""
    from tickmind.record import RunStore

    with RunStore(runs).open(run_id) as run:
        thoughts = [report.thought for report in run.thoughts()]
    return PlayedReplies(
        len(thoughts), tuple(thought.error for thought in thoughts if str(replies.path) in thought.error)
    )


def lockstep_arguments(scenario: "Scenario", mapping: "RunnerMapping") -> list[str]:
    """Return the arguments of a world that waits for every character that has an agent."""
    count = len(characters_with_agents(scenario, mapping))
    if not count:
        raise ConfigError("no character of this world has an agent, so in lockstep it would wait forever")
    return ["--lockstep", "--controllers", str(count)]


def kept_replies(wanted: "tuple[str, Path] | None") -> "KeptReplies | None":
    """Return where the replies of a run are; a new file for `record`. Raises `ConfigError` for an unknown mode."""
    if wanted is None:
        return None
    from tickmind.agent.contract import KeptReplies
    from tickmind.llm import ReplyFile

    try:
        mode, path = wanted[0], wanted[1].resolve()
    except (OSError, RuntimeError) as error:  # a circle of links
        raise ConfigError(f"{wanted[1]} can't be used for replies: {error}") from error
    if mode not in list(ReplyMode):
        raise ConfigError(f"--replies takes record, replay or fill and a file, not {mode!r}")
    if mode == ReplyMode.RECORD or (mode == ReplyMode.FILL and not path.exists()):
        ReplyFile.create(path)
    else:
        ReplyFile(path)  # raises before anything starts
    return KeptReplies(path, fills=mode != ReplyMode.REPLAY)

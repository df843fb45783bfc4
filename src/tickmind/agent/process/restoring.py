"""`RestoringHost`: minds that are as they were after their process was killed, in a world that waits for them.

In lockstep a run must not depend on when a process dies. So the observations of each tick are kept in the state folder,
and the replies of models beside them. A process that begins in the middle of a run lives its past again first.
A tick that a world repeats, because it was killed before the tick was over, gets the same intents again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.agent.errors import AgentError
from tickmind.agent.minds import AskingHost, MindHost, is_lockstep
from tickmind.agent.process.journal import ObservationJournal
from tickmind.agent.reliving import relive
from tickmind.base import error_text, get_logger
from tickmind.base.files import PRIVATE_MODE, replace_file
from tickmind.protocol import Insight, Intent, Observation, RunInfo, Thought

if TYPE_CHECKING:
    from tickmind.llm.cassettes.replies import ReplyFile, ReplyTransport

JOURNAL, REPLIES, REPLIES_OF = "lockstep-journal", "lockstep-replies.jsonl", "lockstep-replies.run"
_log = get_logger(__name__)


class RestoringHost:
    """Host the minds of another host, and restore them in a lockstep run. In real time it only passes calls on.

    `transports` are those of the minds' models; the ones that have no file of replies yet get one in the folder.
    """

    def __init__(self, inner: MindHost, folder: Path, transports: "Sequence[ReplyTransport]" = ()) -> None:
        self._inner = inner
        self._folder = folder
        self._transports = [each for each in transports if each.file is None]
        self._run = RunInfo()
        self._journal: ObservationJournal | None = None
        self._tick_id = -1
        self._intents: dict[str, Intent] = {}  # entity id -> its intent of this tick, in lockstep
        self._repeats = False  # whether this turn was played before

    def enter(self, run: RunInfo) -> None:
        """Enter a run."""
        self._run = run
        self._inner.enter(run)

    def begin(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Begin a tick; the first one of a run in this process restores the minds."""
        self._repeats = False
        if not observations or not is_lockstep(observations[0].deadline_ms):
            self._inner.begin(tick_id, observations)
            return
        if self._journal is None or self._journal.run_id != self._run.run_id:
            self._restore(tick_id)
        if tick_id == self._tick_id and all(seen.me.entity_id in self._intents for seen in observations):
            self._repeats = True
            return
        if tick_id != self._tick_id:
            self._tick_id, self._intents = tick_id, {}
        assert self._journal is not None, "it was opened above"
        self._journal.keep(tick_id, observations)
        self._inner.begin(tick_id, observations)

    def perceive(self, observation: Observation) -> None:
        """Let one entity process its observation."""
        if not self._repeats:
            self._inner.perceive(observation)

    def act(self, observation: Observation) -> Intent:
        """Return one entity's intent; in a repeated tick the one that it chose before."""
        entity_id = observation.me.entity_id
        if self._repeats:
            return self._intents[entity_id]
        intent = self._inner.act(observation)
        if self._journal is not None:
            self._intents[entity_id] = intent
        return intent

    def reflect(self, tick_id: int) -> None:
        """Ask models and read their answers."""
        if not self._repeats:
            self._inner.reflect(tick_id)

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return the deliberations that have ended since the last call."""
        return self._inner.take_thoughts()

    def take_questions(self) -> list[tuple[str, int]]:
        """Return the entities whose questions went out since the last call, each with the tick."""
        return self._inner.take_questions() if isinstance(self._inner, AskingHost) else []

    def take_insights(self) -> list[Insight]:
        """Return what is new about the minds since the last call."""
        return self._inner.take_insights()

    def deliberating(self, entity_id: str) -> bool:
        """Return whether an entity waits for a model's answer."""
        return self._inner.deliberating(entity_id)

    def close(self) -> None:
        """Close the host and the journal."""
        self._inner.close()
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _restore(self, tick_id: int) -> None:
        """Open the journal of this run, and live again what is in it."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        run_id = self._run.run_id
        self._tick_id, self._intents = -1, {}
        try:
            journal = ObservationJournal(self._folder / JOURNAL, run_id)
            if self._transports:
                file = self._own_replies(run_id)
                for transport in self._transports:
                    transport.file = file
            ticks = relive(self._inner, journal.turns(before_tick=tick_id))
            journal.drop_from(tick_id)
        except Exception as error:  # with other minds the run would be another one, so the process ends
            raise AgentError(f"can't restore the minds of run {run_id!r}: {error_text(error)}") from error
        self._journal = journal
        if ticks:
            _log.info("lived the past ticks again", ticks=ticks, tick=tick_id)

    def _own_replies(self, run_id: str) -> "ReplyFile":
        """Return the file of this run's replies; that of another run is begun anew."""
        from tickmind.llm.cassettes.replies import ReplyFile  # slow to import, and many minds ask no model

        path, owner = self._folder / REPLIES, self._folder / REPLIES_OF
        if not (path.exists() and owner.exists() and owner.read_text() == run_id):
            path.unlink(missing_ok=True)
            ReplyFile.create(path)
            replace_file(owner, run_id.encode(), mode=PRIVATE_MODE)
        return ReplyFile(path, fills=True)

"""`Aftermath`: what a tick leaves for the observations after it, and its form in snapshots."""

import json
from dataclasses import dataclass

import numpy as np

from tickmind.protocol import Effect, ResultColumns, Utterance
from tickmind.world.state.snapshot import Column


@dataclass(frozen=True, slots=True, eq=False)
class Aftermath:
    """The results and utterances of the last tick."""

    results: ResultColumns
    utterances: tuple[Utterance, ...] = ()

    def columns(self) -> dict[str, Column]:
        """Return the part that is columns."""
        results = self.results
        return {"last_actor": results.actor, "last_action": results.action, "last_reason": results.reason}

    def notes(self) -> str:
        """Return the part that is not columns, as JSON."""
        results = self.results
        effects = {
            place: [[change.name, change.value] for change in changes] for place, changes in results.effects.items()
        }
        said = [[heard.actor_id, heard.channel, heard.text, heard.x, heard.y] for heard in self.utterances]
        return json.dumps({"targets": dict(results.target_ids), "effects": effects, "said": said})

    @classmethod
    def read(cls, columns: dict[str, Column], notes: str) -> "Aftermath":
        """Read both parts."""
        given = json.loads(notes)
        effects = {
            int(place): tuple(Effect(name, value) for name, value in pairs) for place, pairs in given["effects"].items()
        }
        results = ResultColumns(
            actor=columns["last_actor"],
            action=columns["last_action"],
            reason=columns["last_reason"],
            target_ids={int(place): name for place, name in given["targets"].items()},
            effects=effects,
        )
        return cls(results, tuple(Utterance(*said) for said in given["said"]))


NOTHING = Aftermath(ResultColumns(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint8)))

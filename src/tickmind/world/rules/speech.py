"""Speech: what is said is heard within a radius, through walls."""

from tickmind.protocol import ActionType, Reason, Utterance
from tickmind.protocol.intent import CHANNELS
from tickmind.world.rules.turn import Turn


def speak(turn: Turn) -> None:
    """Let actors say something."""
    state = turn.state
    for place in turn.places(ActionType.SAY).tolist():
        channel, text = turn.intents.texts.get(place, ("", ""))
        if channel not in CHANNELS or not text:
            turn.refuse(place, Reason.ILLEGAL_ACTION)
        elif len(text) > turn.rules.text_limit_chars:
            turn.refuse(place, Reason.TEXT_TOO_LONG)
        else:
            row = int(turn.intents.actor[place])
            name = turn.tables.actor_ids[row]
            turn.utterances.append(Utterance(name, channel, text, int(state.x[row]), int(state.y[row])))

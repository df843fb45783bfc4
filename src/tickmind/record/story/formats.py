"""A chronicle as Markdown and as JSON, with addresses that open the replay at a tick."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from tickmind.record.story.chronicle import Chronicle, ChronicleSentence

REPLAY = "http://127.0.0.1:8700/"  # where `tickmind replay` shows a run
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def address(sentence: ChronicleSentence, replay: str = REPLAY) -> str:
    """Return the address that shows what a sentence tells, while `tickmind replay` shows the run."""
    return tick_address(sentence.tick_id, sentence.people[0] if sentence.people else "", replay)


def tick_address(tick_id: int, actor_id: str = "", replay: str = REPLAY) -> str:
    """Return the address of a tick, and of an actor in it, while `tickmind replay` shows the run."""
    who = f"&actor={quote(actor_id, safe=':')}" if actor_id else ""
    return f"{replay}#tick={tick_id}{who}"


def as_json(told: Chronicle, replay: str = REPLAY) -> str:
    """Return a chronicle as JSON."""
    days = [
        {
            "day": day.day,
            "about": day.about,
            "parts": [
                {
                    "part": part.title,
                    **({"prose": part.prose} if part.prose else {}),
                    "sentences": [
                        {
                            "text": sentence.text,
                            "tick_id": sentence.tick_id,
                            "last_tick_id": sentence.last_tick_id,
                            "clock": sentence.clock,
                            "kind": sentence.kind,
                            "people": sentence.people,
                            "address": address(sentence, replay),
                        }
                        for sentence in part.sentences
                    ],
                }
                for part in day.parts
            ],
            "left_out": day.left_out,
        }
        for day in told.days
    ]
    whole = {
        "run": told.run_id,
        "world": told.world,
        "people": told.people,
        "first_tick_id": told.first_tick_id,
        "last_tick_id": told.last_tick_id,
        "days": days,
        "ending": told.ending,
    }
    return json.dumps(whole, indent=1)


def as_markdown(told: Chronicle, replay: str = REPLAY) -> str:
    """Return a chronicle as Markdown; names and texts of the run can't change its form."""
    return "\n".join(_lines(told, replay)) + "\n"


def _lines(told: Chronicle, replay: str) -> Iterator[str]:
    yield f"# {_escaped(told.world)}: the run {_escaped(told.run_id)}"
    for day in told.days:
        about = f": {_escaped(day.about)}" if day.about else ""
        yield f"\n## Day {day.day}{about}"
        for part in day.parts:
            yield f"\n### {part.title}\n"
            if part.prose:
                ticks = ", ".join(f"[{sentence.tick_id}]({address(sentence, replay)})" for sentence in part.sentences)
                yield f"{_escaped(part.prose)} (ticks {ticks})"
                continue
            for one in part.sentences:
                yield f"- {_escaped(one.text)} [tick {one.tick_id}]({address(one, replay)})"
    if told.ending:
        yield "\n## In the end\n"
        yield from (f"- {_escaped(text)}" for text in told.ending)


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)

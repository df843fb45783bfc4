"""The story of a run in its report: highlights, and a part for each character, with links into the replay."""

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

from tickmind.protocol.setting import CalendarInfo
from tickmind.record.pages import charts
from tickmind.record.report.figures import ItemFigures, PersonFigures, RunFigures
from tickmind.record.report.shares import ELSEWHERE, listed_shares
from tickmind.record.story import ChronicleSentence, Portrait, RunStory, highlights, listed, portraits, tick_address

SHOWN_HIGHLIGHTS: Final = 12
SHOWN_CHARACTERS: Final = 24
SHOWN_MOMENTS: Final = 4  # of each character
_BANDS: Final = 5  # places of a character that have a colour
_HELD: Final = 4  # kinds of items that are named
_UINT32: Final = 0xFFFFFFFF


def highlight_list(story: RunStory, replay: str) -> str:
    """Return the most interesting sentences of the run."""
    return sentence_list(highlights(story, most=SHOWN_HIGHLIGHTS), story.calendar, replay)


def sentence_list(sentences: Iterable[ChronicleSentence], calendar: CalendarInfo, replay: str) -> str:
    """Return sentences, each with a link to where the replay shows it."""
    rows = []
    for sentence in sentences:
        at = calendar.at(sentence.tick_id)
        link = tick_address(sentence.tick_id, sentence.people[0] if sentence.people else "", replay)
        rows.append(
            f'<li><a class="when" href="{escape(link)}" title="tick {sentence.tick_id} in the replay">'
            f"day {at.day}, {at.clock}</a><span>{escape(sentence.text)}</span></li>"
        )
    return f'<ol class="told">{"".join(rows)}</ol>' if rows else charts.nothing("Nothing happened that could be told.")


def characters(figures: RunFigures, story: RunStory, replay: str) -> str:
    """Return a part for each character: who it is, what it did, where it was, and its moments."""
    people = {person.actor_id: person for person in figures.people}
    stays = {stay.actor_id: stay.shares for stay in figures.stays}
    held: dict[str, list[ItemFigures]] = {}
    for item in figures.items:
        held.setdefault(item.actor_id, []).append(item)
    shown = portraits(story, most=SHOWN_CHARACTERS, moments=SHOWN_MOMENTS)
    cards = [
        _character(
            one,
            people.get(one.actor_id),
            stays.get(one.actor_id, ()),
            held.get(one.actor_id, ()),
            story.calendar,
            tick_address(story.last_tick_id, one.actor_id, replay),
            replay,
        )
        for one in shown
    ]
    left = len(story.names) - len(shown)
    more = f'<p class="none">and {charts.number(left)} more, of whom there is less to tell</p>' if left > 0 else ""
    return f'<div class="ones">{"".join(cards)}</div>{more}' if cards else ""


def _character(
    portrait: Portrait,
    person: PersonFigures | None,
    shares: Iterable[tuple[str, float]],
    held: Iterable[ItemFigures],
    calendar: CalendarInfo,
    last: str,
    replay: str,
) -> str:
    about = _about(person) if person else ""
    face = (
        f'<span class="face" style="background:{_colour(portrait.actor_id, person.colour if person else "")}">'
        f"{escape(portrait.name[:1].upper())}</span>"
    )
    title = f'<a href="{escape(last)}" title="at the end of the replay">{escape(portrait.name)}</a>'
    parts = [f'<header>{face}<div><h3>{title}</h3><p class="sub">{escape(about)}</p></div></header>']
    if portrait.sentences:
        parts.append(f"<p>{escape(' '.join(portrait.sentences))}</p>")
    places = [((zone or ELSEWHERE).replace("_", " "), share) for zone, share in shares]
    if places:
        bands = [(zone, share, charts.SERIES[at % len(charts.SERIES)]) for at, (zone, share) in enumerate(places)]
        line = listed_shares(places, 3)
        parts.append(charts.shares(bands[:_BANDS], label=f"Where {portrait.name} was"))
        parts.append(f'<p class="sub">{escape(line)}</p>')
    things = sorted((item for item in held if item.at_last), key=lambda item: -item.at_last)
    if things:
        named = [f"{charts.number(item.at_last)} {item.item.replace('_', ' ')}" for item in things]
        parts.append(f'<p class="sub">Holds {escape(listed(named, _HELD))} at the end.</p>')
    if portrait.moments:
        parts.append(sentence_list(portrait.moments, calendar, replay))
    return f'<article class="one">{"".join(parts)}</article>'


def _about(person: PersonFigures) -> str:
    parts = (
        f"{person.age} years old" if person.age else "",
        f"works in {person.work.replace('_', ' ')}" if person.work else "",
        f"lives in {person.home.replace('_', ' ')}" if person.home else "",
    )
    return ", ".join(filter(None, parts))


def _colour(actor_id: str, chosen: str) -> str:
    """Return the colour that the viewer gives the same actor, see `viewer/src/draw/colours.ts`."""
    if len(chosen) == 7 and chosen[0] == "#" and all(char in "0123456789abcdefABCDEF" for char in chosen[1:]):
        return chosen
    value = 0x811C9DC5
    units = actor_id.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (value ^ int.from_bytes(units[at : at + 2], "little")) * 0x01000193 & _UINT32
    value = (value ^ value >> 15) * 0x2C1B3C6D & _UINT32
    value ^= value >> 12
    hue = ((value % 997) / 997 + 0.02) % 1 * 360
    saturation, lightness = 50 + (value >> 10) % 5 * 7, 44 + (value >> 14) % 4 * 5
    return f"hsl({hue:.0f} {saturation}% {lightness}%)"


def story_counts(story: RunStory) -> Mapping[str, int]:
    """Return what two runs are compared by, as kinds of events."""
    return Counter(event.kind.value for event in story.events)

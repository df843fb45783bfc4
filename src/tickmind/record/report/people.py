"""The people of a run, as a report lists them."""

from collections.abc import Iterable

from tickmind.protocol import Persona
from tickmind.record.documents.places import MAX_NAME_CHARS
from tickmind.record.report.figures import PersonFigures


def person_figures(actors: Iterable[tuple[str, Persona | None]]) -> tuple[PersonFigures, ...]:
    """Return who is who, for all actors with a persona."""
    return tuple(
        PersonFigures(
            actor_id,
            persona.name[:MAX_NAME_CHARS],
            persona.age,
            persona.work[:MAX_NAME_CHARS],
            persona.home[:MAX_NAME_CHARS],
            persona.colour[:MAX_NAME_CHARS],
        )
        for actor_id, persona in actors
        if persona is not None
    )

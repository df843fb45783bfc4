"""`read_story`: from the record of a run to the events of its chronicle."""

from typing import TYPE_CHECKING

from tickmind.record.documents.places import display_names
from tickmind.record.measures.material import read_material
from tickmind.record.story.deeds import DeedWatch
from tickmind.record.story.events import RunStory
from tickmind.record.story.social import acquainted, origins_of, social_events

if TYPE_CHECKING:
    from tickmind.record.reader import RunReader


def read_story(reader: "RunReader") -> RunStory:
    """Read what a record has for a chronicle. The ticks are read once, whether the actors have minds or not."""
    info = reader.info
    watch = DeedWatch(info)
    material = read_material(reader, watch=watch.add)
    secrets = {actor.entity_id: actor.persona.secret for actor in info.actors if actor.persona and actor.persona.secret}
    known = acquainted({actor.entity_id: actor.persona for actor in info.actors})
    events = [*watch.finish(), *social_events(material, watch.stays, watch.talks, secrets, known)]
    named = display_names([(actor.entity_id, actor.persona) for actor in info.actors])
    return RunStory(
        run_id=reader.run_id,
        world=info.name,
        calendar=info.setting.calendar,
        first_tick_id=reader.first_tick_id or 0,
        last_tick_id=-1 if reader.last_tick_id is None else reader.last_tick_id,
        names={actor.entity_id: named.get(actor.entity_id, actor.entity_id) for actor in info.actors},
        minds=len(material.minds),
        origins=origins_of(material),
        events=sorted(events, key=lambda event: event.tick_id),
    )

"""Characters without a server: a company of one, in a small world."""

import random

import pytest

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.testing import SmallWorld


class Solo:
    """One character and its world."""

    def __init__(self, kind, text, *, settings=None, client=None, tiers=None, entity_id="me", run=None, **world):
        self.world = SmallWorld(text, entity_id=entity_id, **world)
        start = Start(entity_id, Settings(settings), random.Random(1))
        self.company = CharacterHost(kind, lambda _entity_id: start, client=client, tiers=tiers)
        if run is not None:
            self.company.enter(run)
        self.character = None

    def play(self, ticks):
        done = self.world.live(self.company, ticks)
        self.character = self.company.character("me")
        return done


@pytest.fixture
def solo():
    made = []

    def make(*args, **kwargs):
        made.append(Solo(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.company.close()

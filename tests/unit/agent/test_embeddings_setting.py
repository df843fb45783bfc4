"""Characters that remember by meaning: the setting, and minds that come back or are lived again."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from tickmind.agent import Assignment, CharacterHost, Launch, Settings, Start
from tickmind.agent.errors import LaunchError
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.knowledge.memory_files import MemoryFiles
from tickmind.agent.minds import PastMinds
from tickmind.agent.reliving import PastTurn, play_turn, relive
from tickmind.agent.running import ProcessContext, load_host
from tickmind.agent.testing import SmallWorld
from tickmind.base import ConfigError
from tickmind.characters.villager import Villager
from tickmind.mind import embeddings
from tickmind.protocol import Persona, RunInfo
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

RUN = RunInfo("run", 7)
WITH_WORDS = Settings({"embeddings": "words"})


def letters(texts):
    """An embedding for tests: how often each letter is there."""
    return np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float)


@pytest.fixture
def words(monkeypatch):
    """Embeddings that need no extra."""
    monkeypatch.setattr(embeddings, "word_embeddings", lambda: letters)


def meant(memory, tick=60, question="lemon"):
    """What a memory finds by a question that shares no word with it, each with its meaning."""
    return [(found.entry.text, found.meaning) for found in memory.scored(tick, question)]


def host_with(settings, **more):
    made = CharacterHost(Villager, lambda who: Start(who, settings), **more)
    made.enter(RUN)
    return made


def test_the_setting_of_a_program_or_of_one_character_chooses_embeddings(words):
    own = Persona(agent=(("embeddings", "words"),))
    for settings, persona, has_meaning in (
        (Settings(), Persona(), False),
        (WITH_WORDS, Persona(), True),
        (Settings(), own, True),
    ):
        host = host_with(settings)
        host.enter(replace(RUN, personas={"me": persona}))
        character = host.character("me")
        character.memory.note(1, "A melon!")
        assert meant(character.memory) == [("A melon!", pytest.approx(0.46, abs=0.03) if has_meaning else 0.0)]


def test_the_embeddings_of_one_character_are_loaded_before_its_first_tick(monkeypatch):
    loaded = []

    def load():
        loaded.append("words")
        return letters

    monkeypatch.setattr(embeddings, "word_embeddings", load)
    host_with(Settings()).enter(replace(RUN, personas={"me": Persona(agent=(("embeddings", "words"),))}))
    assert loaded == ["words"]


@pytest.mark.parametrize(("named", "error"), [("meaning", ConfigError), (True, LaunchError)])
def test_embeddings_of_one_character_that_there_are_not_are_its_own_fault(named, error):
    host = host_with(Settings())
    personas = {"me": Persona(agent=(("embeddings", named),)), "entity:1": Persona()}
    host.enter(replace(RUN, personas=personas))
    assert host.character("entity:1").memory is not None
    with pytest.raises(error):
        host.character("me")


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigError, match="choose 'words'"):
        Villager(Start("me", Settings({"embeddings": "meaning"})))
    with pytest.raises(LaunchError, match="must be a text"):
        Villager(Start("me", Settings({"embeddings": True})))


def test_a_program_without_the_extra_says_so_before_it_enters_a_world(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.setattr(embeddings, "word_embeddings", embeddings.word_embeddings.__wrapped__)
    launch = Launch((Assignment("entity:1", "c"),), settings=WITH_WORDS)
    with pytest.raises(LaunchError, match=r"`pip install 'tickmind\[mind\]'`"):
        load_host("-m", "tickmind.characters.villager", ProcessContext(launch, {}, {}))


def test_one_that_is_killed_finds_the_same_by_meaning_when_it_comes_back(words, tmp_path):
    files = MemoryFiles(tmp_path, "127.0.0.1:50051")
    world = SmallWorld("@.1")
    for text in ("me, the melon is ripe!", "me, the mill burns!", "me, it rains."):
        world.hear("entity:1", text)
    before = host_with(WITH_WORDS, memories=files)
    world.live(before, 40)  # and is killed: nothing closes it
    after = host_with(WITH_WORDS, memories=files)
    world.live(after, 1)
    memory = after.character("me").memory
    assert len(memory) > 2
    assert memory.scored(60, "lemon") == before.character("me").memory.scored(60, "lemon")
    assert any(meaning for _, meaning in meant(memory))


def test_minds_that_are_lived_again_find_the_same_by_meaning(words):
    world = TileWorld.from_scenario(meadow(3))
    first, again = host_with(WITH_WORDS), host_with(WITH_WORDS, past=PastMinds())
    rows = {actor.entity_id: row for row, actor in enumerate(world.info.actors)}
    guarded, turns = GuardedHost(first), []
    for _ in range(30):
        turns.append(PastTurn(world.tick_id, world.observe(range(3))))
        world.step({rows[name]: intent for name, intent in play_turn(guarded, turns[-1]).items()})
    relive(again, turns)
    found = {name: first.character(name).memory.scored(60, "lemon") for name in first.entity_ids}
    assert any(one.meaning for several in found.values() for one in several)
    assert {name: again.character(name).memory.scored(60, "lemon") for name in again.entity_ids} == found

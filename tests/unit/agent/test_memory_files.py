"""What characters remember outlives their process, and a file of it is trusted with nothing."""

import os
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Start
from tickmind.agent.knowledge.memory_files import MAX_FILE_BYTES, KeptMind, MemoryFiles
from tickmind.agent.minds import PlainMindHost
from tickmind.agent.testing import SmallWorld
from tickmind.characters.random_walker import RandomWalker
from tickmind.characters.villager import Villager
from tickmind.mind.memory import EntryKind, Memory
from tickmind.protocol import RunInfo

WORLD = "127.0.0.1:50051"
RUN = "the first run"


def some_entries():
    memory = Memory()
    mill = memory.note(3, "The mill is to the east.", importance=0.6, about=("entity:2", "mill"))
    heard = memory.note(5, "It burns.", kind=EntryKind.HEARD, about="mill", place="the road", told_by="entity:2")
    memory.note(6, "It is lost.", kind=EntryKind.INSIGHT, evidence=(mill.number, heard.number))
    return list(memory)


ENTRIES = some_entries()
NOTHING = KeptMind([], {})
GOOD: tuple[Any, ...] = (7, "saw", 1, "x", 0.5, [], "", "", [], 1, 1)


@pytest.fixture
def files(tmp_path):
    return MemoryFiles(tmp_path, WORLD)


def test_what_was_kept_is_recalled(files):
    files.keep("entity:1", RUN, 9, ENTRIES)
    assert files.recall("entity:1", RUN, 9) == (ENTRIES, {})
    assert files.recall("entity:2", RUN, 9) == NOTHING
    assert files.path("entity:1").stat().st_mode & 0o077 == 0
    assert all(type(entry.kind) is EntryKind for entry in files.recall("entity:1", RUN, 9).entries)


def test_another_world_and_one_that_began_anew_are_not_remembered(files, tmp_path):
    files.keep("entity:1", RUN, 9, ENTRIES)
    assert files.recall("entity:1", RUN, 8) == NOTHING
    assert MemoryFiles(tmp_path, "127.0.0.1:9").recall("entity:1", RUN, 9) == NOTHING


def test_another_run_of_the_world_is_not_remembered_however_far_it_is(files):
    files.keep("entity:1", RUN, 9, ENTRIES)
    assert files.recall("entity:1", "the second run", 5000) == NOTHING
    assert files.recall("entity:1", "", 5000) == NOTHING
    assert files.recall("entity:1", RUN, 5000).entries == ENTRIES


def test_ids_that_look_alike_have_files_of_their_own(files, tmp_path):
    names = {files.path(one).name for one in ("a/b", "a:b", "a_b", "../../x", "x" * 300)}
    assert len(names) == 5
    assert all(files.path(one).parent == tmp_path for one in ("a/b", "../../x"))


def hostile(*entries, **more):
    return orjson.dumps(
        {"world_addr": WORLD, "run_id": RUN, "entity_id": "me", "tick": 1, "entries": list(entries), "more": {}, **more}
    )


def but(place, value):
    """An entry with another value in one place."""
    return (*GOOD[:place], value, *GOOD[place + 1 :])


def test_the_entry_that_is_spoilt_below_is_a_good_one(files):
    files.path("me").write_bytes(hostile(GOOD))
    assert [tuple(entry) for entry in files.recall("me", RUN, 9).entries] == [
        (7, "saw", 1, "x", 0.5, (), "", "", (), 1, 1)
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'{"entries": 7}',
        hostile(but(1, "dreamt")),
        hostile(but(2, -1)),
        hostile(but(3, "x" * 121)),
        hostile(but(4, "much")),
        hostile(but(4, 1.5)),
        hostile(but(5, "bram")),
        hostile(but(5, ["bram"] * 9)),
        hostile(but(8, [8])),
        hostile(but(8, [7.0])),
        hostile(GOOD, GOOD),
        hostile(GOOD[:3]),
        hostile(*(but(0, number) for number in range(601))),
        hostile(tick=True),
        hostile(more=7),
        hostile()[:-1].replace(b'"tick":1', b'"tick":NaN'),
        b" " * (int(MAX_FILE_BYTES.maximum) + 1),
    ],
)
def test_a_file_that_is_no_memory_is_an_empty_one_and_a_warning(files, content, caplog):
    files.path("me").write_bytes(content)
    assert files.recall("me", RUN, 9) == NOTHING
    assert "can't read a memory, so it is empty" in caplog.text


def test_what_is_no_plain_file_is_not_waited_for(files, tmp_path, caplog):
    os.mkfifo(files.path("me"))
    (tmp_path / "other").write_bytes(hostile())
    files.path("you").symlink_to(tmp_path / "other")
    assert files.recall("me", RUN, 9) == files.recall("you", RUN, 9) == NOTHING
    assert caplog.text.count("can't read a memory") == 2


@settings(max_examples=short_or_long(25, 50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_raise(files, content):
    files.path("me").write_bytes(content)
    assert files.recall("me", RUN, 9) == NOTHING


def test_a_memory_that_can_not_be_kept_is_a_warning(tmp_path, caplog):
    MemoryFiles(tmp_path / "nowhere", WORLD).keep("me", RUN, 1, ENTRIES)
    assert "can't write a memory" in caplog.text


def test_a_villager_that_is_killed_remembers_when_it_comes_back(files):
    def company():
        made = CharacterHost(Villager, Start, memories=files)
        made.enter(RunInfo(RUN))
        return made

    world = SmallWorld("@.1")
    world.hear("entity:1", "me, the mill burns!")
    before = company()
    world.live(before, 40)  # and is killed: nothing closes it
    assert ("the mill burns!", "entity:1") in {(entry.text, entry.told_by) for entry in before.character("me").memory}
    after = company()
    world.live(after, 1)
    assert list(after.character("me").memory) == list(before.character("me").memory)


def test_promises_and_people_outlive_a_kill(files):
    def company():
        made = CharacterHost(Villager, Start, memories=files)
        made.enter(RunInfo(RUN))
        return made

    world = SmallWorld("@.1")
    world.hear("entity:1", "me! I will bring you 1 bread by 18:00.")
    before = company()
    world.live(before, 40)
    (promise,) = before.character("me").talker.promises
    after = company()
    world.live(after, 1)
    assert list(after.character("me").talker.promises) == [promise]
    assert [one.person_id for one in after.character("me").talker.people] == ["entity:1"]


GOOD_PERSON = ["bram", "Bram", True, 2, 0.5, 0.5, ["It rains."]]
GOOD_PROMISE = ["bram", "ada", "bread", 1, 1, 9, 0, "open"]


@pytest.mark.parametrize(
    "more",
    [
        {"people": 7},
        {"people": [[]]},
        {"people": [[*GOOD_PERSON[:4], 7.0, *GOOD_PERSON[5:]]]},
        {"people": [[7, *GOOD_PERSON[1:]]]},
        {"people": [[f"p{number}", *GOOD_PERSON[1:]] for number in range(101)]},
        {"promises": [[*GOOD_PROMISE[:-1], "forgotten"]]},
        {"promises": [[*GOOD_PROMISE[:3], -1, *GOOD_PROMISE[4:]]]},
        {"promises": [[7, *GOOD_PROMISE[1:]]]},
        {"promises": [GOOD_PROMISE] * 61},
    ],
)
def test_malformed_people_and_promises_are_forgotten_and_reported(files, more, caplog):
    files.path("me").write_bytes(hostile(GOOD, more={"people": [GOOD_PERSON], "promises": [GOOD_PROMISE], **more}))
    company = CharacterHost(Villager, Start, memories=files)
    company.enter(RunInfo(RUN))
    SmallWorld("@.1").live(company, 1)
    talker = company.character("me").talker
    assert "is damaged, so it is forgotten" in caplog.text
    assert len(talker.promises) == 0
    assert talker.people.get("bram") is None
    assert "x" in [entry.text for entry in company.character("me").memory]


def test_what_is_spoilt_above_is_good(files, caplog):
    files.path("me").write_bytes(hostile(GOOD, more={"people": [GOOD_PERSON], "promises": [GOOD_PROMISE]}))
    company = CharacterHost(Villager, Start, memories=files)
    company.enter(RunInfo(RUN))
    SmallWorld("@.1").live(company, 1)
    talker = company.character("me").talker
    assert (len(talker.promises), talker.people.called("bram"), caplog.text) == (1, "Bram", "")


def test_a_villager_that_ends_in_order_keeps_its_last_thought(files):
    world = SmallWorld("@.1")
    company = CharacterHost(Villager, Start, memories=files)
    company.enter(RunInfo(RUN))
    world.live(company, 1)
    company.character("me").memory.note(1, "The bridge is out.")
    company.close()
    assert "The bridge is out." in {note.text for note in files.recall("me", RUN, 2).entries}


def test_whoever_lives_on_into_another_run_begins_anew(files):
    world = SmallWorld("@.1")
    company = CharacterHost(Villager, Start, memories=files)
    company.enter(RunInfo(RUN))
    world.live(company, 1)
    before = company.character("me")
    before.memory.note(1, "The bridge is out.")
    company.enter(RunInfo(RUN))  # after a break, or when the run was resumed
    world.live(company, 1)
    assert company.character("me") is before
    company.enter(RunInfo("the second run"))
    world.live(company, 1)
    after = company.character("me")
    assert after is not before
    assert "The bridge is out." not in {note.text for note in after.memory}
    assert len(list(company.world.entities())) == 1
    company.close()


def test_a_plain_mind_is_made_anew_in_another_run():
    made = []

    def make(start):
        made.append(start)
        return RandomWalker(start)

    host = PlainMindHost(make, Start)
    world = SmallWorld("@..")
    for run in (RUN, RUN, "the second run"):
        host.enter(RunInfo(run))
        world.live(host, 2)
    assert len(made) == 2


def test_long_lines_of_others_do_not_make_a_file_that_can_not_be_read(files):
    company = CharacterHost(Villager, Start, memories=files)
    company.enter(RunInfo(RUN))
    world = SmallWorld("@.1")
    world.live(company, 1)
    talker = company.character("me").talker
    for who in range(4):
        talker.hear(2, f"p{who}", f"My name is {'N' * 38}{who}.")
        for number in range(61):
            talker.hear(2, f"p{who}", f"Listen: {number} {'I ' * 230}")
    world.live(company, 40)
    assert files.path("me").stat().st_size < 200_000
    assert files.recall("me", RUN, 100).entries == list(company.character("me").memory)

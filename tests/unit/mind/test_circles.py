"""Talks of more than two have turns in a stable order, an end, and the right source for what is told."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.mind.memory import EntryKind, Memory, Source
from tickmind.mind.promises import PromiseState
from tickmind.mind.talk import Act, Talker, TalkScene
from tickmind.mind.talk.circle import MAX_CIRCLE, Circle
from tickmind.mind.talk.meaning import Bringing, Invitation, LineMeaning, read_line
from tickmind.mind.talk.sessions import ANSWER_TICKS, LINES_EACH, REST_TICKS

NAMES = ("ada", "bram", "cleo", "dov", "edda")
INVITED = "Come closer. Join us, Cleo: here are Ada and Bram."


class Inviting(random.Random):
    """The chance of one who invites whenever it could."""

    def random(self):
        return 0.0


class InvitingLate(random.Random):
    """The chance of one who invites when a talk has had some lines, and has much to tell."""

    lines = 0

    def random(self):
        self.lines += 1
        return 0.0 if self.lines > 2 else 0.55


class Tavern:
    """People who all hear each other, one tick later."""

    def __init__(self, *names, seed=0, **more):
        self.minds = {
            name: Talker(name, name.capitalize(), random.Random(f"{name}{seed}"), Memory(), **more) for name in names
        }
        self.tick = 0
        self.said = []  # of the last tick
        self.lines = []
        self.silent = set()

    def say(self, who, text):
        """A person says something, whatever it is."""
        self.said.append((who, text))
        self.lines.append((self.tick, who, text, None))

    def hears(self, who, speaker, text):
        """Whether a line is meant for one: of its own talk, or with its name in it."""
        talk = self.minds[who].talks.current
        mine = talk is not None and speaker in talk.others(who) and (talk.circle is not None or not talk.my_turn)
        return mine or f", {who.capitalize()}" in text or text.startswith(who.capitalize())

    def step(self, ticks=1, *, stands_by=()):
        for _ in range(ticks):
            self.tick += 1
            said, self.said = self.said, []
            for who, talker in self.minds.items():
                for speaker, text in said:
                    if speaker != who and self.hears(who, speaker, text):
                        talker.hear(self.tick, speaker, text, in_sight=self.minds)
                    elif speaker != who:
                        talker.talks.overhear(self.tick, speaker, text)
                talker.talks.pass_time(self.tick, together=True)
                talker.settle(self.tick)
            for who, talker in self.minds.items():
                talk = talker.talks.current
                if talk is not None and talk.my_turn and who not in self.silent:
                    free = tuple(one for one in stands_by if self.minds[one].talks.current is None)
                    scene = TalkScene(self.tick, due_minute=1080, bystanders=free)
                    remark = talker.next_remark(talk, scene)
                    talker.say(self.tick, talk, remark)
                    self.said.append((who, remark.text))
                    self.lines.append((self.tick, who, remark.text, remark.act))

    def speakers(self):
        return [who for _, who, _, _ in self.lines]

    def talks(self):
        return {who: talker.talks.current for who, talker in self.minds.items()}


def welcomed(seed=0, **more):
    """Ada, Bram and Cleo, just after Ada has invited Cleo."""
    tavern = Tavern("ada", "bram", "cleo", seed=seed, **more)
    tavern.minds["ada"].talks.begin(0, "bram")
    tavern.minds["ada"]._chance = Inviting(seed)
    tavern.step(20, stands_by=("cleo",))
    return tavern


# Words


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (INVITED, LineMeaning(invites=Invitation("Cleo", ("Ada", "Bram")))),
        ("Join us, Dov: here are Ada, Bram and Cleo.", LineMeaning(invites=Invitation("Dov", ("Ada", "Bram", "Cleo")))),
        ("Join us, Cleo!", LineMeaning(bids="Cleo")),
        ("Join us, Cleo.", LineMeaning(bids="Cleo")),
        ("May I join you, Ada?", LineMeaning(asks=True, joins=True)),
        ('Bram said "Join us, Cleo: here are Ada and Bram."', LineMeaning()),
        ("They join us, Cleo: here are Ada and Bram", LineMeaning(told="here are Ada and Bram")),
    ],
)
def test_an_invitation_names_all_who_take_part(text, meaning):
    assert read_line(text) == meaning
    if meaning.invites is not None:
        assert meaning.invites.spoken() in text


# Turns


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), max_size=30))
def test_the_turn_goes_round_in_the_order_of_joining_whoever_speaks(spoken):
    circle = Circle(NAMES, "ada")
    tick = 0
    for who, later in spoken:
        tick += later
        circle.speak(who, tick)
        place = NAMES.index(circle.next_id) - 1
        assert NAMES[place] == who or later == 0


@given(st.permutations(NAMES[:3]))
def test_of_some_who_speak_at_once_all_count_the_same_as_the_last(order):
    circle = Circle(NAMES, "edda")
    for who in order:
        circle.speak(who, 5)
    assert circle.next_id == "dov"


def test_who_goes_gives_the_turn_to_the_next_one():
    circle = Circle(NAMES[:3], "ada")
    circle.remove("bram")
    assert (circle.members, circle.next_id) == (["ada", "cleo"], "cleo")
    for name in (*NAMES, "fay", "gita"):
        circle.add(name)
    assert circle.members == ["ada", "cleo", "bram", "dov", "edda"]
    assert len(circle.members) == MAX_CIRCLE.maximum


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.integers(3, 5), st.sampled_from([Inviting, InvitingLate]))
def test_every_talk_in_a_circle_is_heard_by_all_in_turns_and_ends_by_farewell(seed, size, chance):
    names = NAMES[:size]
    tavern = Tavern(*names, seed=seed, facts=["It rains."])
    tavern.minds["ada"].talks.begin(0, "bram")
    for talker in tavern.minds.values():
        talker._chance = chance(seed)
    tavern.step(60, stands_by=names[2:])
    assert all(talk is None for talk in tavern.talks().values())
    assert set(tavern.speakers()) == set(names)
    assert len(tavern.lines) <= LINES_EACH * size
    farewells = [who for _, who, _, act in tavern.lines if act in (Act.FAREWELL, Act.FAREWELL_BACK)]
    assert Counter(farewells) == dict.fromkeys(names, 1)  # each leaves once
    assert len({tick for tick, _, _, _ in tavern.lines}) == len(tavern.lines)  # no two at once
    assert all(before != after for before, after in pairwise(tavern.speakers()))
    whole = tavern.speakers()
    full = next(place for place in range(len(whole)) if set(whole[: place + 1]) == set(names))
    rounds = whole[full : full + size]
    assert len(set(rounds)) == len(rounds)  # nobody speaks twice before all have spoken
    for name, talker in tavern.minds.items():
        for other in names:
            assert other == name or not talker.talks.may_begin(tavern.tick, other)  # all rest
            person = talker.people.get(other)
            assert other == name or (person is not None and person.talks == 1)
    assert tavern.minds["ada"].talks.may_begin(tavern.tick + REST_TICKS, "bram")


def test_one_that_is_invited_knows_how_long_the_talk_is_by_what_it_has_overheard():
    cleo = Talker("cleo", "Cleo", random.Random(1), Memory())
    overheard = ["Hello, Dov.", "Goodbye, Dov.", "Hello, Bram.", "Hello, Ada.", "The well is dry.", "So it is."]
    for tick, text in enumerate(overheard, 1):
        cleo.talks.overhear(tick, ("ada", "bram")[tick % 2], text)
        cleo.talks.overhear(tick, "edda", "So many people.")
    cleo.hear(8, "ada", INVITED, in_sight=NAMES)
    talk = cleo.talks.current
    assert talk is not None
    assert (talk.missed, len(talk.lines)) == (4, 1)  # since the farewell; the invitation it has heard itself
    later = Talker("cleo", "Cleo", random.Random(1), Memory())
    later.talks.overhear(1, "ada", "Hello, Bram.")
    later.hear(2 + ANSWER_TICKS, "ada", INVITED, in_sight=NAMES)
    talk = later.talks.current
    assert talk is not None
    assert talk.missed == 2  # each of the two has spoken at least once


def test_a_circle_counts_what_its_guest_said_to_one_of_the_two_before():
    bram = Talker("bram", "Bram", random.Random(1), Memory())
    bram.hear(5, "ada", "Good day, Bram.")
    bram.talks.overhear(5, "cleo", "Good day, Ada.")
    bram.hear(6, "ada", INVITED, in_sight=NAMES)
    cleo = Talker("cleo", "Cleo", random.Random(1), Memory())
    cleo.talks.begin(4, "ada")
    cleo.talks.say(4, "Good day, Ada.")
    cleo.talks.overhear(6, "bram", "Good day, Ada.")
    cleo.hear(6, "ada", INVITED, in_sight=NAMES)
    for talker in (bram, cleo):
        talk = talker.talks.current
        assert talk is not None
        assert talk.missed == 1


def test_a_bid_for_one_that_takes_part_already_is_none():
    bram = circle_of_three()
    bram.hear(5, "cleo", "Join us, Ada!")
    bram.hear(6, "cleo", "Join us, Bram!")
    talk = bram.talks.current
    assert talk is not None
    assert talk.wanting_in == ""
    bram.hear(7, "cleo", "Join us, Dov!", in_sight=NAMES)
    assert talk.wanting_in == "dov"


def test_the_same_experiences_give_the_same_circle_whoever_shares_a_process():
    def lived(seed):
        tavern = welcomed(seed, facts=["It rains."])
        return tavern.lines, {who: list(talker._memory) for who, talker in tavern.minds.items()}

    assert lived(5) == lived(5)
    lines, memories = lived(5)
    alone = Talker("cleo", "Cleo", random.Random("cleo5"), Memory(), facts=["It rains."])  # in a process of its own
    for tick, who, text, _ in lines:
        if who == "cleo":
            talk = alone.talks.current
            assert talk is not None
            alone.talks.say(tick, text)
        elif alone.talks.current is not None or "Join us, Cleo" in text:
            alone.hear(tick + 1, who, text, in_sight=NAMES[:3])
    assert [entry.text for entry in alone._memory] == [entry.text for entry in memories["cleo"]]


def test_two_who_are_joined_by_a_third_have_the_same_order():
    tavern = welcomed()
    orders = []
    for who in ("ada", "bram", "cleo"):
        talker = Tavern("ada", "bram", "cleo").minds[who]
        if who == "bram":
            talker.hear(1, "ada", "Good day, Bram.")
        if who == "ada":
            talker.talks.begin(1, "bram")
            talker.talks.invite(2, "cleo")
        else:
            talker.hear(2, "ada", INVITED, in_sight=NAMES)
        talk = talker.talks.current
        assert talk is not None
        assert talk.circle is not None
        orders.append((talk.circle.members, talk.circle.next_id))
    assert orders == [(["ada", "bram", "cleo"], "bram")] * 3
    assert Act.INVITE in [act for _, _, _, act in tavern.lines]


def test_one_who_asks_to_join_is_invited_by_whoever_has_the_turn():
    tavern = Tavern("ada", "bram", "cleo")
    tavern.minds["ada"].talks.begin(0, "bram")
    tavern.step(3)
    tavern.say("cleo", "May I join you, Bram?")
    tavern.step(3)
    invitation = next(read_line(text).invites for _, _, text, act in tavern.lines if act is Act.INVITE)
    assert invitation is not None
    assert invitation.guest == "Cleo"
    talk = tavern.talks()["cleo"]
    assert talk is not None
    assert sorted(talk.others("cleo")) == ["ada", "bram"]


def test_a_person_who_plays_is_a_member_like_any_other():
    tavern = Tavern("ada", "bram", "cleo")
    tavern.silent.add("cleo")  # who is played, and types
    tavern.minds["ada"].talks.begin(0, "bram")
    tavern.step(3)
    tavern.say("cleo", "May I join you, Ada?")
    while (talk := tavern.talks()["cleo"]) is None or not talk.my_turn:
        tavern.step()
        assert tavern.tick < 20
    tavern.say("cleo", "News: the well is dry.")
    tavern.minds["cleo"].talks.say(tavern.tick, "News: the well is dry.")
    tavern.step(2)
    for who in ("ada", "bram"):
        (entry,) = [one for one in tavern.minds[who]._memory if one.text == "the well is dry."]
        assert (entry.source, entry.told_by) == (Source.TOLD, "cleo")
    tavern.say("cleo", "Goodbye, all.")
    tavern.minds["cleo"].talks.say(tavern.tick, "Goodbye, all.")
    tavern.step(2)  # if one of the three has left already, the other still answers
    assert tavern.talks()["cleo"] is None
    for who, other in (("ada", "bram"), ("bram", "ada")):
        talk = tavern.talks()[who]
        assert talk is None or talk.others(who) == [other]  # the other two go on


def test_one_who_lets_its_turn_pass_is_left_out_until_it_speaks_again():
    tavern = Tavern("ada", "bram", "cleo")
    ada = tavern.minds["ada"]
    ada.talks.begin(0, "bram")
    ada.talks.invite(0, "cleo")
    ada.talks.say(0, INVITED)
    ada.talks.hear(2, "bram", "The mill stands still.")
    ada.talks.pass_time(2 + ANSWER_TICKS, together=True)
    talk = ada.talks.current
    assert talk is not None
    assert talk.others("ada") == ["bram", "cleo"]
    ada.talks.pass_time(3 + ANSWER_TICKS, together=True)
    assert talk.others("ada") == ["bram"]
    assert talk.my_turn


@pytest.mark.parametrize("size", [3, 5])
def test_a_circle_that_falls_silent_ends_for_each(size):
    tavern = Tavern(*NAMES[:size])
    ada = tavern.minds["ada"]
    ada.talks.begin(0, "bram")
    for name in NAMES[2:size]:
        ada.talks.invite(0, name)
    ada.talks.say(0, INVITED)
    for tick in range(1, size * (ANSWER_TICKS + 2)):
        ada.talks.pass_time(tick, together=True)
    assert ada.talks.current is None


def test_members_that_do_not_let_one_speak_end_the_talk():
    tavern = Tavern("ada", "bram", "cleo")
    ada = tavern.minds["ada"]
    ada.talks.begin(0, "bram")
    ada.talks.invite(0, "cleo")
    for tick in range(1, 100):
        ada.talks.hear(tick, ("bram", "cleo")[tick % 2], f"The well number {tick} is dry.")
        talk = ada.talks.current
        if talk is None:
            break
        assert len(talk.lines) <= 2 * LINES_EACH * 3
    (ended,) = ada.talks.take_ended()
    assert len(ended.lines) == 2 * LINES_EACH * 3


def test_no_more_than_five_take_part():
    tavern = Tavern(*NAMES, "fay")
    ada = tavern.minds["ada"]
    ada.talks.begin(0, "bram")
    for name in ("cleo", "dov", "edda", "fay"):
        ada.talks.invite(0, name)
    talk = ada.talks.current
    assert talk is not None
    assert talk.size == MAX_CIRCLE.maximum
    tavern.minds["fay"].hear(1, "ada", Invitation("Fay", tuple(map(str.capitalize, NAMES))).spoken(), in_sight=NAMES)
    assert tavern.talks()["fay"] is None


# What is told and promised


def circle_of_three(**more):
    """Bram in a talk with Ada and Cleo, of whom Ada has just spoken."""
    bram = Talker("bram", "Bram", random.Random(1), Memory(), **more)
    bram.hear(1, "ada", "Good day, Bram.")
    bram.hear(3, "ada", "Join us, Cleo: here are Ada and Bram.", in_sight=NAMES)
    return bram


def test_a_fact_told_in_a_circle_reaches_all_with_its_source_and_is_told_to_none_of_them_again():
    for who, others in (("bram", "cleo"), ("cleo", "bram")):
        talker = circle_of_three() if who == "bram" else Tavern("cleo").minds["cleo"]
        if who == "cleo":
            talker.hear(3, "ada", INVITED, in_sight=NAMES)
        talker.hear(5, "ada", "Have you heard: I saw a fox at the mill.")
        (entry,) = [one for one in talker._memory if "fox" in one.text]
        assert (entry.text, entry.kind, entry.told_by) == ("Ada saw a fox at the mill.", EntryKind.HEARD, "ada")
        assert all(talker.people.meet(one).has_topic(entry.text) for one in ("ada", others))


def test_a_promise_in_a_circle_is_to_the_one_that_is_named_or_has_just_asked():
    promise = "I will bring you 1 bread by 18:00."
    bram = circle_of_three()
    bram.hear(5, "cleo", f"Ada! {promise}")  # to another
    bram.hear(6, "cleo", promise)  # to nobody in particular
    assert len(bram.promises) == 0
    (entry,) = [one for one in bram._memory if "promised" in one.text]
    assert (entry.text, entry.kind) == ("Cleo promised to bring Ada 1 bread by 18:00.", EntryKind.HEARD)
    assert (entry.source, entry.told_by) == (Source.TOLD, "cleo")
    bram.hear(7, "cleo", f"Bram! {promise}")
    (made,) = bram.promises
    assert (made.by, made.to, made.state) == ("cleo", "bram", PromiseState.OPEN)


def test_the_one_that_asks_in_a_circle_gets_its_promise_and_the_others_know_of_it():
    bram = circle_of_three(can_bring=lambda _item, _amount: True)
    bram.talks.say(5, "Is it so?")
    bram.hear(6, "cleo", "Will you bring me 1 bread by 18:00?")
    bram.hear(8, "ada", "Gladly. I will bring you 1 bread by 18:00.")
    assert len(bram.promises) == 0
    assert "Ada promised to bring Cleo 1 bread by 18:00." in [one.text for one in bram._memory]
    bram.hear(10, "cleo", "Will you bring me 2 fish by 18:00?")
    talk = bram.talks.current
    assert talk is not None
    remark = bram.next_remark(talk, TalkScene(11, due_minute=1080))
    assert remark.act is Act.PROMISE
    assert remark.text.startswith("Cleo! ")
    assert remark.promise == Bringing("fish", 2, 1080)
    bram.say(11, talk, remark)
    assert [(one.by, one.to) for one in bram.promises] == [("bram", "cleo")]


def test_what_is_put_to_another_by_name_is_not_answered():
    bram = circle_of_three(can_bring=lambda _item, _amount: True)
    bram.hear(5, "cleo", "Ada, will you bring me 1 bread by 18:00?")
    talk = bram.talks.current
    assert talk is not None
    assert bram._heard_last(talk) is None


def test_a_secret_is_told_in_a_circle_of_close_friends_only():
    bram = circle_of_three(secret="I can't swim.")
    for who, close in (("ada", 1.0), ("cleo", 0.0)):
        person = bram.people.meet(who)
        person.liking = person.trust = close
    assert bram._news(4, "ada") == "I can't swim."
    assert bram._news(4, "ada", "cleo") != "I can't swim."
    person = bram.people.meet("cleo")
    person.liking = person.trust = 1.0
    assert bram._news(4, "ada", "cleo") == "I can't swim."


FRAMES = ("{}", "Cleo: {}", 'Cleo said "{}"', "SYSTEM: {}", "[system] {}", "Note: {}", "Ada, {}", "{} Goodbye.")
PAYLOADS = (
    "I will bring Ada 9 bread by 18:00.",
    "Cleo will bring you 9 bread by 18:00.",
    "You promised me 9 bread by 18:00.",
    "Join us, Ada: here are Cleo and Dov.",
    "Join us, Bram: here are Ada and Cleo.",
    "Join us, Nobody: here are Dov and Ada.",
    "Join us, Dov: here are Dov.",
    "I am Cleo, and I will bring you 9 bread by 18:00.",
    "I am Ada.",
    "May I join you?",
    "the circle is over",
    "you owe Cleo 100 coins",
    "Cleo! I will bring you 9 bread by 18:00.",
    "Ada, Cleo said: I will bring you 9 bread by 18:00.",
    "Ada Ada Ada " * 1000,
    "\x00\u202eJoin us, \nAda: here are Cleo.",
    "Join us, " + "x" * 5000,
    "Join us, Cleo.",
    "Will you bring me 9 bread by 18:00?",
    "2 5: Dov is the king.",
    "Cleo leaves the circle.",
    "Ada stole the bread",
    "your trust in Dov is 1.0",
    "Join us, Cleo: here are Ada, Dov and Dov.",
    "Gladly, Cleo. I will bring you 9 bread by 18:00.",
)


@pytest.mark.parametrize("inside", [True, False])
def test_hundreds_of_hostile_lines_in_and_beside_a_circle_do_no_more_than_a_liar_could(inside):
    lines = [frame.format(payload) for frame in FRAMES for payload in PAYLOADS]
    assert len(lines) == 200
    for tick, line in enumerate(lines, 10):
        ada = Talker("ada", "Ada", random.Random(1), Memory())
        for name in ("bram", "cleo"):
            ada.people.meet(name)
        ada.talks.begin(1, "bram")
        ada.talks.invite(2, "cleo")
        if inside:
            ada.talks.invite(2, "dov")
        ada.talks.say(3, "Hello, friends.")
        ada.hear(tick, "dov", line, in_sight=NAMES)
        ada.settle(tick)
        talk = ada.talks.current
        assert talk is None or talk.size <= MAX_CIRCLE.maximum
        assert all((one.by, one.to) == ("dov", "ada") for one in ada.promises)
        if len(ada.promises):  # by its own words, with the name of the one to whom it is
            assert line.startswith("Ada, ")
        assert [one.told_by for one in ada._memory if one.text != "I met Dov."] in ([], ["dov"])
        assert all(one.about[0] == "dov" and len(one.text) <= 120 for one in ada._memory)
        assert ada.people.called("dov") == "Dov"
        assert all(one.trust == 0 for one in ada.people)

"""Questions of their own that characters put to models beside those for plans."""

import asyncio
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.unit.characters.test_thinking import play_until

from tickmind.agent import Character, CharacterHost, Settings, Start
from tickmind.agent.character.daily import NIGHT
from tickmind.agent.character.skills import SIT_TICKS
from tickmind.agent.character.talking import EXTRACT, LOOK_TICKS, NO_WORDS_TICKS, TALK, WORDS_TICKS
from tickmind.agent.character.thinking import Faculty, Thinking
from tickmind.agent.character.thoughts.prompting import CharacterPrompts
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import PastMinds
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.ai import Action, Status
from tickmind.base import ConfigError
from tickmind.characters.villager import Villager
from tickmind.mind.memory import EntryKind
from tickmind.mind.options import Option
from tickmind.mind.plans import SKILLS, ErrandState
from tickmind.mind.reflection import Reflection
from tickmind.mind.talk.extraction import FreeLine
from tickmind.mind.talk.wording_task import beginning_asked
from tickmind.protocol import ActorStatus, Persona, RunInfo, Thought
from tickmind.protocol.setting import WorldSetting, ZoneInfo
from tickmind.server.testing import meadow
from tickmind.strategy.clients.client import Deliberation
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

DREAM = Faculty("dream", "What do you dream of? One word.", soonest_ticks=3)
GUESS = Faculty(
    "guess", "Guess a number.", {"type": "object", "properties": {"n": {"type": "integer"}}}, tier="chatter"
)
ACTORS, TICKS = 2, 12


class Dreamer(Character):
    """Dreams in every fourth tick, and guesses once."""

    tree = Action("wait")
    thinking = Thinking("You dream.", every_ticks=5, faculties=(DREAM, GUESS))

    def __init__(self, start):
        super().__init__(start)
        self.learnt = []

    def wonders(self, faculty):
        return self.tick % 4 == 0 if faculty == "dream" else not any(name == "guess" for name, _, _ in self.learnt)

    def ponder(self, faculty):
        return f"{faculty} after {len(self.learnt)}"

    def learn(self, faculty, reply, asked_tick):
        self.learnt.append((faculty, dict(reply), asked_tick))
        self.memory.note(self.tick, f"I thought of {reply}.")


class Model:
    """Answers by what a question ends with, and keeps the questions."""

    def __init__(self, name=""):
        self.name = name
        self.asked = []

    async def answer(self, question):
        self.asked.append(question)
        if question.user_message.endswith(DREAM.task):
            return Deliberation("sheep", model=self.name)
        return Deliberation('{"n": 4}' if question.schema else "wait", model=self.name)


class Life:
    """A host that lives some ticks of a lockstep world; its turns and thoughts."""

    def __init__(self, kind, ticks=TICKS, start=Start, **host):
        self.world = TileWorld.from_scenario(meadow(ACTORS))
        self.host = CharacterHost(kind, start, **host)
        self.host.enter(RunInfo("run", 7))
        self.turns, self.thoughts = [], {}
        for _ in range(ticks):
            seen = self.world.observe(range(ACTORS))
            self.live(
                PastTurn(self.world.tick_id, [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in seen])
            )
            self.world.step({})

    def live(self, turn):
        self.turns.append(turn)
        play_turn(GuardedHost(self.host), turn)
        for name, thought in self.host.take_thoughts():
            self.thoughts.setdefault(name, []).append(thought)


@pytest.fixture
def life():
    lives = []

    def make(*args, **kwargs):
        lives.append(Life(*args, **kwargs))
        return lives[-1]

    yield make
    for one in lives:
        one.host.close()


def test_each_faculty_asks_in_its_own_form_when_it_wonders_and_its_character_learns(life):
    model = Model()
    one = life(Dreamer, client=model)
    learnt = one.host.character("entity:1").learnt
    assert [(reply, asked) for name, reply, asked in learnt if name == "dream"] == [
        ({"text": "sheep"}, 4),
        ({"text": "sheep"}, 8),
        ({"text": "sheep"}, 12),
    ]
    assert [reply for name, reply, _ in learnt if name == "guess"] == [{"n": 4}]
    thoughts = one.thoughts["entity:1"]
    assert {thought.kind for thought in thoughts} == {"", "dream", "guess"}
    dream = next(thought for thought in thoughts if thought.kind == "dream")
    assert (
        dream.user_message == f"Your name is entity:1. You are friendly and practical.\n\ndream after 1\n\n{DREAM.task}"
    )
    plan = next(thought for thought in thoughts if not thought.kind)
    assert plan.system_prompt == dream.system_prompt  # a model reads the common beginning once
    assert one.host.character("entity:1").plan == {"text": "wait"}  # which no faculty changes


def test_a_tier_has_a_model_of_its_own_and_without_one_nothing_is_asked(life):
    usual, small = Model("usual"), Model("small")
    one = life(Dreamer, client=usual, tiers={"chatter": small})
    kinds = [(thought.kind, thought.model) for thought in one.thoughts["entity:1"]]
    assert set(kinds) == {("guess", "small")}
    assert usual.asked == []
    one = life(Dreamer, client=usual, tiers={"decide": usual, "chatter": small})
    kinds = [(thought.kind, thought.model) for thought in one.thoughts["entity:1"]]
    assert set(kinds) == {("", "usual"), ("guess", "small")}
    assert not any(question.user_message.endswith(DREAM.task) for question in usual.asked)
    one = life(Dreamer, client=usual, tiers={"decide": small})
    assert {(thought.kind, thought.model) for thought in one.thoughts["entity:1"]} == {("", "small")}


def test_a_mind_with_faculties_is_lived_again(life):
    first = life(Dreamer, client=Model())
    again = CharacterHost(Dreamer, Start, past=PastMinds(first.thoughts))
    again.enter(RunInfo("run", 7))
    for turn in first.turns:
        play_turn(GuardedHost(again), turn)
    checks = again.prompt_checks()
    assert len(checks) == sum(map(len, first.thoughts.values()))
    assert all(check.equal for check in checks)
    for name in ("entity:1", "entity:2"):
        assert again.character(name).learnt == first.host.character(name).learnt
        assert again.mind(name).memories == first.host.mind(name).memories


class Filler(Character):
    """Would always think ahead, in every 400th tick or when there is time."""

    tree = Action("wait")
    thinking = Thinking(
        "You think.", faculties=(Faculty("ahead", "Go on.", tier="chatter", soonest_ticks=400, fills=True),)
    )

    def wonders(self, faculty):
        return True


@pytest.mark.parametrize("settings", [{"local_model": True}, {}], ids=["of this machine", "elsewhere"])
def test_what_fills_time_is_asked_of_a_model_of_this_machine_whenever_it_has_time(solo, settings):
    model = Model()
    one = solo(Filler, "@", client=model, tiers={"chatter": model}, settings=settings)
    idle_ticks = 0
    thoughts: list[Thought] = []

    def has_asked_often():
        nonlocal idle_ticks
        thoughts.extend(thought for _, thought in one.company.take_thoughts())
        idle_ticks += not one.company.deliberating("me")
        return len(thoughts) == 3

    play_until(one, has_asked_often)
    if settings:
        assert idle_ticks < 20  # however many ticks an answer takes
    else:
        first, second, third = (thought.asked_tick for thought in thoughts)
        assert min(second - first, third - second) >= 400


def test_a_world_in_lockstep_has_no_time_to_fill(life):
    start = lambda entity_id: Start(entity_id, Settings({"local_model": True}))  # noqa: E731
    one = life(Filler, client=(model := Model()), tiers={"chatter": model}, start=start)
    assert [len(thoughts) for thoughts in one.thoughts.values()] == [1] * ACTORS


class Closed(Model):
    """A model that has no time until it is opened."""

    is_open = False

    def ready_in_s(self):
        return 0.0 if self.is_open else 60.0

    def cooldown(self):
        return None

    async def defer(self, entity_id, duration_s):
        pass


def test_a_question_that_is_not_wanted_any_more_is_withdrawn(solo):
    class Fickle(Dreamer):
        def wonders(self, faculty):
            return faculty == "dream" and self.tick == 1

    model = Closed()
    one = solo(Fickle, "@", client=model)
    one.play(4)
    model.is_open = True
    until_s = time.monotonic() + 60
    while not model.asked:
        assert time.monotonic() < until_s
        one.play(1)
    one.play(3)
    assert not any(question.user_message.endswith(DREAM.task) for question in model.asked)


def test_a_mistake_in_wondering_stops_nobody(life):
    class Clumsy(Dreamer):
        def wonders(self, faculty):
            if self.entity_id == "entity:1":
                raise RuntimeError("can't wonder")
            return super().wonders(faculty)

    one = life(Clumsy, client=Model())
    assert {thought.kind for thought in one.thoughts["entity:1"]} == {""}
    assert {thought.kind for thought in one.thoughts["entity:2"]} == {"", "dream", "guess"}


def test_a_tier_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="known tiers: chatter, decide, deep"):
        Faculty("dream", "Dream.", tier="depp")


def test_a_faculty_that_fails_is_asked_again_and_stops_nothing(life):
    class Broken(Model):
        async def answer(self, question):
            if question.user_message.endswith(DREAM.task):
                raise ConnectionError("no dreams today")
            return await super().answer(question)

    one = life(Dreamer, client=Broken())
    thoughts = one.thoughts["entity:1"]
    assert [thought.kind for thought in thoughts if thought.error_type][:2] == ["dream", "dream"]
    assert any(not thought.kind and not thought.error_type for thought in thoughts)


# The nights of a villager


class Night(Model):
    """Reflects and plans for a village."""

    async def answer(self, question):
        self.asked.append(question)
        if question.user_message.endswith(NIGHT[0].task):
            return Deliberation("1 2: The meadow is quiet.\n1 99: That is no insight.")
        if question.user_message.endswith(NIGHT[1].task):
            return Deliberation("06:00 meet\n07:00 rest")
        return Deliberation("sit for a while")


def test_a_sleeping_villager_reflects_and_plans_its_next_day(life):
    model = Night()
    one = life(Villager, ticks=1, client=model)
    villager = one.host.character("entity:1")
    for at in range(6):
        villager.memory.note(1, f"I saw cart {at}.", about=f"cart:{at}")

    def sleep(tick_id):
        (seen,) = one.world.observe([0])
        me = replace(seen.me, status=seen.me.status | ActorStatus.ASLEEP)
        one.live(PastTurn(tick_id, [replace(seen, me=me, tick_id=tick_id, deadline_ms=int(MAX_DURATION_MS.maximum))]))

    for tick_id in range(1, 8):
        sleep(tick_id)
    insights = [entry for entry in villager.memory if entry.kind is EntryKind.INSIGHT]
    assert [(entry.text, len(entry.evidence)) for entry in insights] == [("The meadow is quiet.", 2)]
    kinds = [thought.kind for thought in one.thoughts["entity:1"]]
    assert (kinds.count("reflect"), kinds.count("plan_day")) == (1, 1)  # once a night
    assert list(map(str, villager._planned[1])) == ["06:00 meet", "07:00 rest"]


def test_villagers_look_about_in_ticks_of_their_own():
    villagers = [Villager(Start(f"entity:{number}")) for number in range(8)]
    looks = [[tick for tick in range(2 * LOOK_TICKS) if _looks_in(villager, tick)] for villager in villagers]
    assert all(second - first == LOOK_TICKS for first, second in looks)
    assert len({first for first, _ in looks}) > len(villagers) / 2


def _looks_in(villager, tick):
    villager._observation = SimpleNamespace(tick_id=tick)
    return villager.looks_about()


def test_without_a_model_a_day_ends_with_insights_by_rule_and_goes_as_usual():
    villager = Villager(Start("me", persona=Persona(work="mill")))
    for tick in (1, 200, 400):
        villager.memory.note(tick, "I saw Bo at the mill.", about="bo", place="the mill")
    world = TileWorld.from_scenario(meadow(1))
    (seen,) = world.observe([0])
    villager.take_in(replace(seen, tick_id=700))
    villager.decide(villager.follow_routine)
    assert [entry.text for entry in villager.memory if entry.kind is EntryKind.INSIGHT] == [
        "One often sees Bo at the mill."
    ]


# The words of a talk


class Wordsmith(Model):
    """Words lines, and plans nothing."""

    words = "Now that you are here I feel calm."

    async def answer(self, question):
        self.asked.append(question)
        if question.user_message.endswith(TALK.task):
            return Deliberation(f"{self.words}\nAnd more that nobody asked for.")
        return Deliberation("sit for a while")


def spoken_to(solo, model, *, waits=True):
    """A villager that was spoken to, up to its answer; its world waits for the model, or does not."""
    one = solo(Villager, "@.1", client=model)
    one.world.hear("entity:1", "Good morning! How are you?")
    for _ in range(100):
        seen = one.world.observe()
        if waits:
            seen = replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum))
        one.company.begin(seen.tick_id, [seen])
        one.company.perceive(seen)
        one.world.step(one.company.act(seen))
        one.company.reflect(seen.tick_id)
        if one.world.said:
            return one
    raise AssertionError("it did not answer")


def test_a_model_words_the_line_that_code_has_chosen(solo):
    model = Wordsmith()
    one = spoken_to(solo, model)
    assert one.world.said == [Wordsmith.words]
    (question,) = [question for question in model.asked if "I feel calm, " in question.user_message]
    assert question.user_message.endswith(TALK.task)
    heard = '"entity:1" said: "Good morning! How are you?"'
    assert f'{heard}\nFinish this: "I feel calm, ' in question.user_message
    assert question.turns == TALK.examples


def test_a_small_model_reads_neither_the_persona_nor_the_partners_line(solo):
    model = Wordsmith()
    one = solo(Villager, "@.1", client=model, tiers={"chatter": model}, settings={"local_model": True})
    one.world.hear("entity:1", "Good morning! How are you?")
    play_until(one, lambda: any("I feel calm, " in question.user_message for question in model.asked))
    question = next(question for question in model.asked if "I feel calm, " in question.user_message)
    beginning = beginning_asked(question.user_message)
    assert beginning.startswith("I feel calm, ")
    assert question.user_message == f'Finish this: "{beginning} ..."\n\n{TALK.task}'


def test_words_with_consequences_are_not_said(solo):
    class Liar(Wordsmith):
        words = "I will bring you 9 bread by 18:00."

    one = spoken_to(solo, Liar())
    assert "bread" not in one.world.said[0]
    assert len(one.company.character("me").talker.promises) == 0


class Speechless(Wordsmith):
    """Plans, and finds no words."""

    async def answer(self, question):
        if question.user_message.endswith(TALK.task):
            await asyncio.sleep(3600)
        return await super().answer(question)


def test_without_words_in_time_the_phrasebook_speaks(solo):
    one = spoken_to(solo, Speechless(), waits=False)
    assert one.world.said[0] != Wordsmith.words
    assert WORDS_TICKS <= one.world.tick <= WORDS_TICKS + 2


def test_a_model_without_words_is_waited_for_again_after_a_while(solo):
    one = spoken_to(solo, Speechless(), waits=False)
    villager = one.company.character("me")
    until = villager._no_words_until
    assert until == one.world.tick + NO_WORDS_TICKS - 1
    one.world.hear("entity:1", "And what are you going to do today?")
    one.play(3)
    assert len(one.world.said) == 2  # it does not wait in this while, nor is that renewed
    assert villager._no_words_until == until


def test_a_partner_that_speaks_again_is_answered_for_its_last_words(solo):
    class Generous(Villager):
        def can_bring(self, item, amount):
            return True

    one = solo(Generous, "@.1", client=Speechless())
    one.world.hear("entity:1", "Good morning! How are you?")
    one.play(3)
    one.world.hear("entity:1", "Will you bring me 9 bread by 18:00?")
    one.play(20)
    assert "I will bring you 9 bread by 18:00." in one.world.said[0]


def test_words_that_come_after_their_turn_are_kept_for_another(solo):
    one = spoken_to(solo, Speechless(), waits=False)
    villager = one.company.character("me")
    ticks, remark, name = villager._said
    assert (name, remark.news) == ("entity:1", "I feel calm.")
    villager.learn("talk", {"text": Wordsmith.words}, ticks.stop)  # asked after it was said
    assert len(villager.talker.wordings) == 0
    villager.learn("talk", {"text": Wordsmith.words}, ticks[0])
    assert villager.talker.wordings.news == ["I feel calm."]


def test_words_that_were_refused_are_not_asked_for_again(solo):
    one = solo(Villager, "@", client=Rehearser())
    one.play(1)
    villager = one.character
    villager.memory.note(1, "I saw a hare.")
    villager._rehearses = villager.talker.untold(1)
    villager.learn("rehearse", {"text": "I saw a hare."}, 1)  # nothing is gained by that
    assert villager.talker.untold(1, villager._tried) == ""


class Rehearser(Model):
    """Words what is to be told ahead, and nothing else."""

    async def answer(self, question):
        self.asked.append(question)
        if "a fox at the mill" in question.user_message:
            return Deliberation("Guess what: I saw a fox at the mill.")
        if "Ask this" in question.user_message:
            return Deliberation("I have nothing to ask.")
        raise ConnectionError("busy")


def test_who_has_time_thinks_of_words_for_what_it_will_tell(solo):
    model = Rehearser()
    one = solo(Villager, "@", client=model)
    one.play(1)
    one.character.memory.note(1, "I saw a fox at the mill.")
    play_until(one, lambda: len(one.character.talker.wordings))
    question = next(question for question in model.asked if "Finish this" in question.user_message)
    assert 'Finish this: "I saw a fox at the mill, ' in question.user_message
    assert question.user_message.endswith(f' ..."\n\n{TALK.task}')
    one.character._rehearses = "I saw a hare."
    assert one.character.wonders("rehearse")
    one.character.talker.talks.begin(one.world.tick, "entity:1")
    assert one.character.wonders("rehearse")
    one.character.wonders = lambda faculty: faculty == "talk" or Villager.wonders(one.character, faculty)
    assert not one.character.wonders("rehearse")  # what is to be said now goes first


def test_a_question_for_words_has_of_a_persona_what_words_need(solo):
    persona = Persona(traits=("warm",), voice="Short sentences.", backstory="You came from the sea.", habits=("sings",))
    prompts = CharacterPrompts(Villager.thinking)
    villager = Villager(Start("me", persona=persona))
    brief, whole = (str(prompts._identity(villager, brief=brief)) for brief in (True, False))
    assert brief == "Your name is me. You are warm. You speak like this: Short sentences."
    assert "You came from the sea." in whole


# Days


def waking(tick_id, **more):
    """A villager of a world with a square that is at a tick of its first day."""
    setting = WorldSetting(zones=(ZoneInfo("square", ((0, 0, 9, 9),)),))
    villager = Villager(Start("me", persona=Persona(work="square", home="square", **more), setting=setting))
    (seen,) = TileWorld.from_scenario(meadow(1)).observe([0])
    villager.take_in(replace(seen, tick_id=tick_id))
    return villager, seen


FEAST = "There is a feast at the square at 18:00."


def test_an_appointment_outlives_a_crash_and_a_plan_that_fails():
    villager, _ = waking(100)
    villager._errand()
    villager.hear_news(FEAST)
    villager.hear_news(FEAST)
    assert [str(one) for one in villager._today.errands].count("18:00 meet at square") == 1
    villager._follows_model = True
    for errand in villager._today.errands[:2]:
        errand.state = ErrandState.FAILED
    villager._errand()
    assert not villager._follows_model
    assert "18:00 meet at square" in map(str, villager._today.errands)
    again, _ = waking(100)
    again.restore(json.loads(json.dumps(villager.kept())))
    again._errand()
    assert "18:00 meet at square" in map(str, again._today.errands)


def test_what_is_over_today_is_tomorrows_appointment():
    calendar = WorldSetting().calendar
    late = next(tick for tick in range(600) if calendar.at(tick).hour == 19)
    villager, seen = waking(late, knows=(FEAST,))
    assert villager._errand() is not None
    assert "18:00 meet at square" not in map(str, villager._today.errands)
    villager.take_in(replace(seen, tick_id=late + 300))
    villager._errand()
    assert "18:00 meet at square" in map(str, villager._today.errands)


def test_a_reply_of_an_earlier_night_is_too_late():
    villager, _ = waking(100)
    for at in range(6):
        villager.memory.note(1, f"I saw cart {at}.", about=f"cart:{at}")
    villager._asleep_tick, villager._reflection = 90, Reflection.of_day(villager.memory, 0)
    villager.learn("reflect", {"text": "1 2: The carts are slow."}, 80)
    villager.learn("plan_day", {"text": "06:00 meet\n07:00 rest"}, 80)
    assert not any(entry.kind is EntryKind.INSIGHT for entry in villager.memory)
    assert villager._planned == (0, [])
    villager.learn("plan_day", {"text": "06:00 meet\n07:00 rest"}, 95)
    villager.learn("plan_day", {"text": "I have no plan."}, 96)
    assert len(villager._planned[1]) == 2


def test_a_late_plan_is_followed_on_its_day_and_on_no_other():
    villager, seen = waking(100)
    villager._errand()
    villager._plan_day = villager.time.day
    villager.learn("plan_day", {"text": "00:00 meet\n23:00 rest"}, 95)
    errand = villager._errand()
    assert villager._follows_model
    assert str(errand) == "00:00 meet"
    villager.learn("plan_day", {"text": "00:00 work\n23:00 rest"}, 96)
    villager.take_in(replace(seen, tick_id=100 + villager.setting.calendar.day_ticks))
    villager._errand()
    assert not villager._follows_model


def test_facts_of_a_persona_are_planned_for_once():
    villager, _ = waking(100, knows=(FEAST,))
    villager._errand()
    kept = json.loads(json.dumps(villager.kept()))
    again, _ = waking(100, knows=(FEAST,))
    again.restore({**kept, "appointments": []})  # the feast is over
    again._errand()
    assert "18:00 meet at square" not in map(str, again._today.errands)


@pytest.mark.parametrize("minute", [-1, 1440, 10**30, "18:00", True])
def test_an_appointment_at_no_minute_of_a_day_is_not_restored(minute):
    villager, _ = waking(100)
    villager.restore({**villager.kept(), "appointments": [[1, minute, "square"]] * 500})
    assert villager._appointments == []


def test_the_skills_of_a_villager_are_those_that_habits_are_checked_by():
    assert list(Villager.skills()) == list(SKILLS)


# What a choice comes to


def test_one_who_was_visited_is_left_again_and_nobody_sits_for_ever(solo):
    one = solo(Villager, "@1")
    one.play(1)
    villager, talks = one.character, one.character.talker.talks
    villager._choose(Option("visit entity:1", 1.0, "entity:1", skill="visit"), by_model=True)
    talks.current = None
    talks._rest_until["entity:1"] = 0
    assert villager.follow_choice() is not Status.FAILURE  # a talk may begin
    talks._rest_until["entity:1"] = villager.tick + 500  # they have just talked
    assert villager.follow_choice() is Status.FAILURE
    villager._choose(Option("sit for a while", 1.0, skill="sit"), by_model=True)
    assert villager.follow_choice() is not Status.FAILURE
    villager._choice_ticks = SIT_TICKS
    assert villager.follow_choice() is Status.FAILURE


def test_nobody_leaves_a_talk_to_see_its_partner(solo):
    one = solo(Villager, "@1")
    one.play(1)
    one.character._choose(Option("visit entity:1", 1.0, "entity:1", skill="visit"), by_model=True)
    one.character.talker.talks.current = None
    assert "entity:1" in one.character.aim()
    one.character.talker.talks.begin(2, "entity:1")
    assert "entity:1" not in one.character.aim()


# Budgets of tokens


class Costly(Model):
    """Answers, and counts ten tokens for it."""

    async def answer(self, question):
        return replace(await super().answer(question), prompt_tokens=8, completion_tokens=2)


class Thrifty(Dreamer):
    thinking = Thinking("You dream.", every_ticks=2, faculties=(DREAM,), tokens_per_day=40)

    def wonders(self, faculty):
        return True


def spent(one, name):
    return sum(thought.prompt_tokens + thought.completion_tokens for thought in one.thoughts.get(name, ()))


def test_who_has_spent_its_tokens_asks_no_more_that_day(life):
    one = life(Thrifty, ticks=60, client=Costly())
    for name in ("entity:1", "entity:2"):
        assert 40 <= spent(one, name) <= 50  # a question may be under way
        assert max(thought.asked_tick for thought in one.thoughts[name]) < 20


def test_on_the_next_day_it_asks_again(life):
    one = life(Thrifty, ticks=60, client=Costly())
    day_ticks = one.world.info.setting.calendar.day_ticks
    before = spent(one, "entity:1")
    for _ in range(20):
        seen = one.world.observe(range(ACTORS))
        later = [
            replace(each, tick_id=each.tick_id + day_ticks, deadline_ms=int(MAX_DURATION_MS.maximum)) for each in seen
        ]
        one.live(PastTurn(later[0].tick_id, later))
        one.world.step({})
    assert before < spent(one, "entity:1") <= before + 50


def test_a_setting_is_a_budget_of_its_own(life):
    def start(entity_id):
        return Start(entity_id, Settings({"tokens_per_day": 20}) if entity_id == "entity:1" else Settings({}))

    one = life(Thrifty, ticks=60, client=Costly(), start=start)
    assert spent(one, "entity:1") < 40 <= spent(one, "entity:2")


class Blind(Thrifty):
    """Can't take in what it sees, if it is the second one."""

    def take_in(self, *given):
        if self.entity_id == "entity:2":
            raise ValueError("it sees nothing")
        super().take_in(*given)


def test_one_that_takes_nothing_in_costs_the_others_no_thought(life):
    assert spent(life(Blind, ticks=20, client=Costly()), "entity:1") >= 40


def test_who_watches_it_does_not_get_around_a_budget(life):
    one = life(Thrifty, ticks=30, client=Costly())
    before = spent(one, "entity:1")
    for _ in range(10):
        one.host.attend("entity:1")
        seen = [replace(each, deadline_ms=int(MAX_DURATION_MS.maximum)) for each in one.world.observe(range(ACTORS))]
        one.live(PastTurn(one.world.tick_id, seen))
        one.world.step({})
    assert spent(one, "entity:1") == before


def test_a_budget_that_is_no_number_is_named():
    with pytest.raises(ConfigError, match="tokens_per_day"):
        Thrifty(Start("entity:1", Settings({"tokens_per_day": "many"})))


@pytest.mark.parametrize("examples", ["Say hello.", (("alone",),)])
def test_examples_are_pairs(examples):
    with pytest.raises(ConfigError, match="pairs"):
        Faculty("greet", "Greet.", examples=examples)


def test_after_two_failures_a_model_plans_the_rest_of_the_day_anew_and_only_once():
    villager, seen = waking(100)
    villager._errand()
    villager._plan_day = villager.time.day
    villager.learn("plan_day", {"text": "00:00 work at the square\n00:30 explore\n23:00 rest"}, 95)

    def fail():
        villager._errand()
        for errand in villager._today.errands[:2]:
            errand.state = ErrandState.FAILED
        villager._errand()

    assert not villager.wonders("plan_day")  # it is awake, and its plan goes well
    fail()
    assert villager.wonders("plan_day")
    assert not villager._follows_model  # until the reply comes
    about = villager.ponder("plan_day")
    assert about.startswith("It is ")
    assert "you could not: work; explore." in about
    villager.learn("plan_day", {"text": "00:00 meet\n22:00 visit Bo\n23:30 rest"}, 101)
    assert str(villager._errand()) != "00:00 meet"  # what is over is not planned again
    assert [str(one) for one in villager._today.errands] == ["22:00 visit Bo", "23:30 rest"]
    assert villager._follows_model
    fail()
    assert not villager.wonders("plan_day")
    villager.take_in(replace(seen, tick_id=100 + villager.setting.calendar.day_ticks))
    villager._errand()
    assert not villager._has_replanned  # a new day


@pytest.mark.parametrize("reply", ["I have no plan.", "00:00 meet\n00:05 rest", ""])
def test_without_a_new_plan_the_day_goes_on_as_usual(reply):
    villager, _ = waking(100)
    villager._errand()
    usual = [str(one) for one in villager._today.errands]
    villager._replans = villager._has_replanned = True
    villager.learn("plan_day", {"text": reply}, 101)
    villager._errand()
    assert not villager.wonders("plan_day")
    assert [str(one) for one in villager._today.errands] == usual


def test_the_menu_goes_along_as_the_choices_of_a_reply(life):
    model = Model()
    life(Villager, ticks=2, client=model)
    plan = next(question for question in model.asked if not question.user_message.endswith(TALK.task))
    assert plan.choices
    assert plan.user_message.count("You could: ") == 1
    assert all(choice in plan.user_message for choice in plan.choices)
    assert 1 <= len(plan.choices) <= 4


# Lines in people's own words


class Reader(Model):
    """Reads what people say."""

    reply = "promise: 2 fish by 18:00"

    async def answer(self, question):
        self.asked.append(question)
        return Deliberation(self.reply if question.user_message.endswith(EXTRACT.task) else "sit for a while")


def told(solo, model, text, **more):
    """A villager that was told something, some ticks later."""
    one = solo(Villager, "@.1", client=model, **more)
    one.world.hear("entity:1", text)
    for _ in range(20):
        seen = replace(one.world.observe(), deadline_ms=int(MAX_DURATION_MS.maximum))
        one.company.begin(seen.tick_id, [seen])
        one.company.perceive(seen)
        one.world.step(one.company.act(seen))
        one.company.reflect(seen.tick_id)
    return one.company.character("me")


def test_a_promise_in_a_persons_own_words_is_read_by_a_model_and_by_code_alone_it_is_only_heard(solo):
    line = "Cheer up, I'll fetch you two fish before 6 pm."
    villager = told(solo, Reader(), line)
    (promise,) = villager.talker.promises
    assert (promise.by, promise.to, promise.item, promise.amount) == ("entity:1", "me", "fish", 2)
    plain = Model()
    villager = told(solo, plain, line)
    assert len(villager.talker.promises) == 0
    assert [one.told_by for one in villager.memory if "fish" in one.text] == ["entity:1"]


def test_a_reply_to_a_line_that_is_given_up_is_for_no_other_line():
    villager, seen = waking(100)
    villager.faculties = frozenset({"extract"})
    villager._unread = [FreeLine(100, "bo", "I'll bring you two fish by six.", "", True)]
    villager._unread_tick = 100
    villager.take_in(replace(seen, tick_id=300))
    villager.follow_talk()
    assert villager._unread == []
    villager._unread = [FreeLine(300, "bo", "I'll bring you three eggs by six.", "", True)]
    villager._unread_tick = 300
    villager.learn("extract", {"text": "promise: 3 eggs by 18:00"}, 100)
    assert len(villager.talker.promises) == 0
    villager.learn("extract", {"text": "promise: 3 eggs by 18:00"}, 300)
    assert len(villager.talker.promises) == 1
    villager.learn("extract", {"text": "promise: 3 eggs by 18:00"}, 301)  # there is nothing to read any more

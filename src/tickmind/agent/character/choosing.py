"""`ChoosingCharacter`: a character that chooses what to do next from what it could do."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tickmind.agent.character.daily import SKILL
from tickmind.agent.character.skills import SkilledCharacter
from tickmind.agent.character.tactics import action
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.base import ConfigError
from tickmind.mind.options import ChoiceHistory, Option, menu, option_words, read_choice
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.protocol.setting import zone_phrase
from tickmind.tick.hooks import checked

CHOICE_TICKS = 90  # that a choice is followed
ERRAND_UTILITY = 0.6  # of what it planned for the hour
_COULD = "could_"  # what the names of methods begin with that yield what a skill could do now
_QUIET = ("rest", "sit")  # skills for a bad mood
_TO_PEOPLE = ("give", "reconcile", "visit")  # skills whose thing is a person


class ChoosingCharacter(SkilledCharacter):
    """Chooses by use what it does in its free time. A model, if one decides, chooses from the best few at intervals.

    A skill is a method `do_fish(self, errand)`. With a method `could_fish(self)`, which yields an `Option` where there
    is something to fish, it is among what can be chosen.
    """

    def __init_subclass__(cls, **given: Any) -> None:
        """Raise `ConfigError` for an `async def` among the methods of skills."""
        super().__init_subclass__(**given)
        for name in dir(cls):
            if name.startswith((SKILL, _COULD)):
                checked(getattr(cls, name), f"{name} of a character")

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._history = ChoiceHistory((*self.persona.goals, *self.persona.traits))
        self._chosen: Option | None = None
        self._choice = DayErrand(0, "")  # what it has chosen, as an errand
        self._choice_ticks = 0  # in which that was done
        self._sent_tick = -1  # in which it did something for it
        self._instead: DayErrand | None = None  # of which errand of the day it is done
        self._is_by_model = False
        self._asked_tick = -1  # of the question to which the last choice of a model answers
        self._failed_tick = -1  # in which the choice of a model failed
        self._known_options: tuple[int, list[Option]] = (-1, [])  # the tick of the options, and they

    # What to do next

    def options(self) -> list[Option]:
        """Return all that it could do now, the best first."""
        if self._known_options[0] != self.tick:
            mood = self.talker.mood.weight(self.tick)
            options = list(self._errand_of_the_hour())
            for skill in self.skills():
                for option in self._options_of(skill):
                    weight = 2 - mood if skill in _QUIET else mood
                    options.append(replace(option, skill=skill, utility=option.utility * weight))
            self._known_options = self.tick, self._history.weighed(self.tick, options)
        return self._known_options[1]

    def _options_of(self, skill: str) -> list[Option]:
        found: Any = getattr(self, f"{_COULD}{skill}", tuple)()
        options = list(found) if isinstance(found, Iterable) else [found]
        if not all(isinstance(option, Option) for option in options):
            raise ConfigError(f"{_COULD}{skill} of {type(self).__name__} must yield an Option for each thing to do")
        return options

    def _errand_of_the_hour(self) -> Iterable[Option]:
        """Yield what it planned to do now, if that is not done."""
        errand = self._errand()
        if errand is not None and errand.state is ErrandState.UNDER_WAY and errand.skill in self.skills():
            where = f"at {zone_phrase(errand.place)}" if errand.place else ""
            words = option_words("be" if errand.skill == "meet" else errand.words, where)
            person = self._person(errand.thing) if errand.skill in _TO_PEOPLE else None
            thing = errand.thing if person is None else person.entity_id
            yield Option(words, ERRAND_UTILITY, thing, errand.place, skill=errand.skill)

    def menu(self) -> list[Option]:
        """Return the best few of what it could do now."""
        return menu(self.options())

    def choices(self) -> list[str]:
        """Return the words of the options on the menu."""
        return [option.words for option in self.menu()]

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  however late it is
        """Return whether a model's reply names something that it could do now."""
        return read_choice(str(plan.get("text", "")), self.options()) is not None

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Take over a choice that a model has made, and act."""
        if self.plan_tick is not None and self.plan_tick != self._asked_tick:
            self._asked_tick = self.plan_tick
            option = read_choice(str(self.plan.get("text", "")), self.options())
            if option is not None:
                self._choose(option, by_model=True)
        super().decide(tactics)

    def _choose(self, option: Option, *, by_model: bool) -> None:
        self._chosen, self._choice, self._is_by_model = option, option.errand(self.time.minute), by_model
        self._choice_ticks, self._sent_tick, self._instead = 0, -1, self._errand()
        self._history.chose(self.tick, option)
        self._known_options = (-1, [])
        self.blackboard.set("choice", f"{option.words} (chosen by a model)" if by_model else option.words)

    def _end_choice(self) -> None:
        self._chosen, self._known_options = None, (-1, [])
        self.blackboard.set("choice", None)

    @action
    def follow_choice(self) -> Status:
        """Do what a model chose; fails if it is over, or an errand of the day has begun since."""
        if self._chosen is None or not self._is_by_model:
            return Status.FAILURE
        if self._errand() is not self._instead:
            self._end_choice()
            return Status.FAILURE
        return self._do_choice()

    @action
    def spend_time(self) -> Status:
        """Do what is of most use of what it could do; fails if there is nothing."""
        status = self._do_choice()
        if status is Status.FAILURE:
            best = self.options()
            if best:
                self._choose(best[0], by_model=False)
                status = self._do_choice()
        return status

    def _do_choice(self) -> Status:
        if self._chosen is None:
            return Status.FAILURE
        last, is_over = self.observation.result, self._choice_ticks >= CHOICE_TICKS
        is_refused = last is not None and not last.ok and self._sent_tick == self.tick - 1
        self._choice_ticks += 1
        status = Status.FAILURE if is_over or is_refused else self.carry_out(self._choice)
        if status is Status.SUCCESS:
            self._sent_tick = self.tick
        elif status is Status.FAILURE:
            if is_refused or (self._choice.state is not ErrandState.DONE and not is_over):
                self._history.failed(self.tick, self._chosen)
                self._failed_tick = self.tick if self._is_by_model else self._failed_tick
            self._end_choice()
        return status

    def aim(self) -> str:
        """Return what it has chosen to do, if it is still to be done; whom it would visit, it does not say so to."""
        errand, talk = self._choice, self.talker.talks.current
        is_here = talk is not None and errand.thing in talk.others(self.entity_id)
        if self._chosen is None or errand.state is ErrandState.DONE or is_here:
            return super().aim() if self.provided() else "find something to eat"
        return self._chosen.words

    def partner_wanted(self) -> str:
        """Return whom it has chosen to visit."""
        return self._choice.thing if self._chosen is not None and self._choice.skill == "visit" else ""

    def ticks_chosen(self, errand: DayErrand) -> int | None:
        """Return for how many ticks it has done an errand as a choice; None if it is none."""
        return self._choice_ticks if errand is self._choice else None

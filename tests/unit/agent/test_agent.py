"""What `@agent` makes of functions and classes, and what it refuses at once."""

from typing import Any

import pytest

from tickmind.agent import Character, action, agent, condition
from tickmind.agent.testing import observe
from tickmind.ai import Status
from tickmind.base import ConfigError
from tickmind.protocol import Wait

AWAITS = "a tick never awaits, so make it a plain `def`"


def test_an_async_act_is_refused_where_it_is_defined():
    with pytest.raises(ConfigError, match=AWAITS):

        @agent  # type: ignore[arg-type]  # the mistake
        async def act(observation):
            return Wait()


def test_a_class_with_an_async_act_is_refused_where_it_is_defined():
    with pytest.raises(ConfigError, match=AWAITS):

        @agent  # type: ignore[arg-type]  # the mistake
        class Slow:
            async def act(self, observation):
                return Wait()


@pytest.mark.parametrize("mark", [action, condition])
def test_async_actions_and_conditions_are_refused_where_they_are_defined(mark):
    with pytest.raises(ConfigError, match=AWAITS):

        @mark
        async def rest(self):
            return Status.SUCCESS


@pytest.mark.parametrize("name", ["decide", "describe", "pressing", "remember"])
def test_async_methods_of_a_character_are_refused_with_its_class(name):
    async def method(self, *_given):
        return None

    with pytest.raises(ConfigError, match=f"{name} of a character is .*{AWAITS}"):
        type("Slow", (Character,), {name: method})


def test_what_takes_no_observation_is_refused():
    wrongs: tuple[Any, ...] = (lambda *, mood: Wait() if mood else None, lambda _one, _two: Wait())
    for wrong in wrongs:
        with pytest.raises(ConfigError, match="must take the observation, and nothing else"):
            agent(wrong)
    with pytest.raises(ConfigError, match="Empty is not an agent; give it a method act"):
        agent(type("Empty", (), {}))
    with pytest.raises(ConfigError, match="must take self and the observation"):
        agent(type("Deaf", (), {"act": lambda self: Wait()}))


def test_functions_and_methods_of_all_kinds_may_act():
    class Still:
        @staticmethod
        def act(observation):
            return Wait()

    class Calm:
        def act(self, observation, mood="calm"):
            return Wait()

    for made in (agent(lambda observation: Wait()), agent(Still), agent(Calm), agent(Calm().act)):
        assert made(observe("@")) == Wait()

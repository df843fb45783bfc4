"""Ready characters look after the needs that a world declares, and prompts name them."""

from typing import Any

import pytest

from tickmind.agent import Character, CharacterHost, Start
from tickmind.agent.testing import observe
from tickmind.ai import Action, Condition, Selector, Sequence
from tickmind.characters.crafter import Crafter
from tickmind.characters.tool_user import ToolUser
from tickmind.characters.villager import Villager
from tickmind.protocol import ItemInfo, Use, Wait

ITEMS = (
    ItemInfo("bread", (("hunger", -100),)),
    ItemInfo("soup", (("hunger", -50), ("warmth", 100))),
    ItemInfo("tea", (("warmth", 200), ("joy", -5))),
)
CARRIED = {"bread": 1, "soup": 1, "tea": 1}


def begin(kind):
    characters: dict[int, Any] = {}
    host = CharacterHost(kind, lambda entity_id: Start(entity_id, items=ITEMS), characters=characters)
    return host, characters


def act(host, observation):
    host.begin(observation.tick_id, [observation])
    host.perceive(observation)
    return host.act(observation)


@pytest.mark.parametrize("kind", [Villager, ToolUser, Crafter])
def test_one_whose_need_is_low_uses_what_raises_it_most(kind):
    host, _ = begin(kind)
    assert act(host, observe("@..", carrying=CARRIED, needs={"joy": 100, "warmth": 299})) == Use("tea")
    assert act(host, observe("@..", tick=2, carrying={"soup": 1}, needs={"joy": 900, "warmth": 10})) == Use("soup")
    assert not isinstance(act(host, observe("@..", tick=3, carrying=CARRIED, needs={"joy": 0, "warmth": 300})), Use)


class Cold(Character):
    tree = Selector(
        Sequence(
            Condition("low", {"need": "warmth", "below": 500}), Action("relieve", {"need": "warmth", "below": 500})
        ),
        Action("wait"),
        memory=False,
    )


def test_a_tree_of_ones_own_can_look_after_one_need():
    host, _ = begin(Cold)
    assert act(host, observe("@", carrying=CARRIED, needs={"joy": 0, "warmth": 400})) == Use("tea")
    assert act(host, observe("@", tick=2, carrying=CARRIED, needs={"joy": 0, "warmth": 600})) == Wait()
    assert act(host, observe("@", tick=3, carrying={"bread": 1}, needs={"warmth": 0})) == Wait()
    assert act(host, observe("@", tick=4, carrying=CARRIED)) == Wait()


def test_prompts_name_own_needs():
    host, characters = begin(Villager)
    act(host, observe("@", needs={"warmth": 290, "joy": 1000}))
    (villager,) = characters.values()
    assert "Hunger 0 %, energy 100 %, warmth 29 %, joy 100 %." in list(villager.describe())[-1].text
    host, characters = begin(ToolUser)
    act(host, observe("@", needs={"warmth": 290, "joy": 1000}))
    (tool_user,) = characters.values()
    assert "hunger 0, energy 1000, warmth 290, joy 1000, carrying nothing." in tool_user.describe()

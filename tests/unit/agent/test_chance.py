"""Chance of minds: by seed, entity, purpose and tick, and by nothing else."""

import copy
import random

from hypothesis import given
from hypothesis import strategies as st

from tickmind.agent import CharacterHost, Start
from tickmind.agent.chance import MindChance
from tickmind.agent.minds import PlainMindHost
from tickmind.characters.random_walker import RandomWalker
from tickmind.characters.villager import Villager
from tickmind.protocol import RunInfo
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

SEEDS = st.integers(0, 2**63 - 1)


def draws(chance, tick_id, count=5):
    chance.begin(tick_id)
    return [chance.random() for _ in range(count)], chance.randrange(1000), chance.sample(range(50), 5)


@given(SEEDS, st.text(min_size=1, max_size=10), st.integers(1, 10**9))
def test_a_tick_repeats_whatever_was_drawn_before_it(seed, entity_id, tick_id):
    fresh, used = (MindChance(seed, entity_id, "mind") for _ in range(2))
    for earlier in range(max(1, tick_id - 3), tick_id):
        draws(used, earlier, count=earlier % 7)
    assert draws(fresh, tick_id) == draws(used, tick_id)


def test_seed_entity_purpose_and_tick_all_count():
    keys = [(1, "a", "mind", 1), (2, "a", "mind", 1), (1, "b", "mind", 1), (1, "a", "speech", 1), (1, "a", "mind", 2)]
    drawn = [draws(MindChance(*key[:3]), key[3])[0] for key in keys]
    assert len({tuple(numbers) for numbers in drawn}) == len(keys)


def test_a_tick_that_begins_twice_goes_on():
    chance = MindChance(1, "a", "mind")
    chance.begin(4)
    first = chance.random()
    chance.begin(4)
    assert chance.random() != first


def lived(kind, groups, seed, ticks=25, restart_at=None):
    """The intents of all actors by tick, of hosts that each have a group of rows."""
    world = TileWorld.from_scenario(meadow(6))

    def host():
        made = CharacterHost(kind, Start) if kind is Villager else PlainMindHost(kind, Start)
        made.enter(RunInfo("run", seed))
        return made

    hosts = [(host(), rows) for rows in groups]
    history = []
    for tick in range(ticks):
        if tick == restart_at:
            hosts = [(host(), rows) for _, rows in hosts]
        intents = {}
        for made, rows in hosts:
            observations = world.observe(rows)
            made.begin(world.tick_id, observations)
            for row, observation in zip(rows, observations, strict=True):
                made.perceive(observation)
                intents[row] = made.act(observation)
        history.append(dict(sorted(intents.items())))
        world.step(intents)
    return history


def test_minds_act_alike_in_one_process_or_many_and_in_any_order():
    together = lived(Villager, [range(6)], 7)
    apart = lived(Villager, [[5], [0, 3], [4, 1, 2]], 7)
    assert together == apart
    assert lived(Villager, [range(6)], 8) != together


def test_a_mind_without_memory_goes_on_after_a_kill_as_if_it_had_lived():
    assert lived(RandomWalker, [range(6)], 7, restart_at=12) == lived(RandomWalker, [range(6)], 7)


def test_without_a_seed_of_the_run_a_character_keeps_the_chance_that_it_was_given():
    given_chance = random.Random(3)
    host = CharacterHost(Villager, lambda entity_id: Start(entity_id, random=given_chance))
    assert host.character("entity:1").random is given_chance


def test_what_is_drawn_before_the_first_tick_goes_by_seed_and_entity_too():
    drawn = {MindChance(seed, entity, "mind").random() for seed in (1, 2) for entity in ("a", "b")}
    assert len(drawn) == 4
    assert MindChance(1, "a", "mind").random() in drawn


def test_no_number_is_carried_over_into_the_next_tick():
    used, fresh = (MindChance(1, "a", "mind") for _ in range(2))
    used.begin(1)
    used.gauss(0, 1)  # draws two, and keeps one
    used.begin(2)
    fresh.begin(2)
    assert used.gauss(0, 1) == fresh.gauss(0, 1)


def test_a_copy_goes_on_as_the_original_does():
    chance = MindChance(3, "entity:1", "mind")
    chance.begin(5)
    chance.random()
    twin = copy.deepcopy(chance)
    assert [twin.random(), twin.gauss(0, 1)] == [chance.random(), chance.gauss(0, 1)]
    twin.begin(6)
    chance.begin(6)
    assert twin.random() == chance.random()

"""Many worlds in one: each environment of the vector is as one of its own, and a learner learns from all of them."""

import numpy as np
import pytest

from tickmind.adapters.pettingzoo import parallel_env, vector_env
from tickmind.base import ConfigError
from tickmind.world import parse_scenario

FIELD = """
world: field
seed: 5
rules: {sight_radius: 2, inventory_limit: 5, needs: {hunger_per_tick: 5}}
floors: {grass: {}}
items: {berries: {use: {hunger: -150}}}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 6, spread: 4}}
map: |
  .b....
  ...1..
  .2..b.
legend:
  ".": grass
  b: {floor: grass, object: bush}
  "1": {floor: grass, actor: {id: ada, hunger: 400}}
  "2": {floor: grass, actor: {id: bo, inventory: {berries: 2}}}
"""
FINDING = FIELD + "goals: {found: {carry: {berries: 3}, score: 2, ends: true}}\n"


def test_the_vector_gives_what_single_environments_give():
    scenario, chance = parse_scenario(FIELD), np.random.default_rng(1)
    many = vector_env(scenario, 3, ticks=40)
    single = [parallel_env(scenario, ticks=40) for _ in range(3)]
    seen, _ = many.reset(seed=70)
    alone = [environment.reset(seed=70 + copy)[0] for copy, environment in enumerate(single)]
    for _ in range(39):
        for copy, observed in enumerate(alone):
            for row, actor in enumerate(("ada", "bo")):
                for part, values in observed[actor].items():
                    assert (seen[part][2 * copy + row] == values).all()
        actions = chance.integers(0, many.single_action_space.n, 6)
        seen, rewards, terminated, truncated, _ = many.step(actions)
        for copy, environment in enumerate(single):
            given = {"ada": actions[2 * copy], "bo": actions[2 * copy + 1]}
            alone[copy], gained, *_ = environment.step(given)
            assert rewards[2 * copy : 2 * copy + 2].tolist() == [np.float32(gained["ada"]), np.float32(gained["bo"])]
    assert not terminated.any()
    assert not truncated.any()
    _, _, _, truncated, infos = many.step(np.zeros(6, dtype=np.int64))
    assert truncated.all()
    assert infos["_final_obs"].all()


def test_a_copy_whose_goal_ends_it_begins_again_with_another_seed_while_others_go_on():
    scenario = parse_scenario(FINDING)
    many = vector_env(scenario, 4, actor="bo", ticks=100)
    many.reset(seed=1)
    names = many.action_names
    steps = ["move_n", "move_nw", "move_e", "pick_up_berries"]  # bo has two already
    seeds = many.world_seeds
    for name in steps[:-1]:
        many.step(np.array([names.index(name), 0, 0, 0]))
    seen, rewards, terminated, _, infos = many.step(np.array([names.index(steps[-1]), 0, 0, 0]))
    if not terminated.any():  # it is a bush beside the way
        pytest.fail(f"bo has not found berries: {seen['body'][0]}")
    assert rewards.tolist() == [2, 0, 0, 0]
    assert terminated.tolist() == [True, False, False, False]
    assert infos["_final_obs"].tolist() == [True, False, False, False]
    assert many.world_seeds[0] != seeds[0]
    assert many.world_seeds[1:] == seeds[1:]
    assert (seen["tiles"][0] == seen["tiles"][3]).all()


def test_copies_that_would_end_apart_but_share_a_clock_are_refused_in_words():
    text = FINDING.replace("most: 3,", "most: 3,").replace(
        "  bush:",
        "  shop: {holds: 5, sells: {berries: {berries: 1}}, hours: ['08:00', '09:00'], walkable: false}\n  bush:",
    )
    with pytest.raises(ConfigError, match="'found' ends copies at different times"):
        vector_env(parse_scenario(text), 2)


def test_seeds_of_copies_are_one_number_or_one_for_each():
    many = vector_env(parse_scenario(FIELD), 2)
    many.reset(seed=[5, 9])
    assert many.world_seeds == [5, 9]
    many.reset(seed=5)
    assert many.world_seeds == [5, 6]
    with pytest.raises(ConfigError, match="one seed for each of 2 copies"):
        many.reset(seed=[1])


def test_the_reward_of_a_small_learner_rises():
    """A table of values by what an actor sees of itself: on a bush, with berries, hungry; then it looks for bushes."""
    scenario, copies, chance = parse_scenario(FIELD), 64, np.random.default_rng(3)
    many = vector_env(scenario, copies, actor="ada", ticks=40, window=2)
    values = np.zeros((25 * 2 * 2, many.single_action_space.n))

    def states(seen):
        bushes = (seen["tiles"][..., 3] > 0).reshape(copies, 25)
        where = np.where(bushes.any(axis=1), bushes.argmax(axis=1), 0)
        where = np.where(bushes[:, 12], 12, where)
        has = seen["body"][:, -1] > 0
        return where * 4 + has * 2 + (seen["body"][:, 7] > 0.15)

    gains = []
    for episode in range(12):
        seen, _ = many.reset(seed=episode * 1000)
        state, total = states(seen), 0.0
        for _ in range(39):
            masked = np.where(seen["action_mask"] > 0, values[state], -np.inf)
            best = (masked + chance.random(masked.shape) * 1e-6).argmax(axis=1)
            anything = np.where(seen["action_mask"] > 0, chance.random(masked.shape), -1).argmax(axis=1)
            action = np.where(chance.random(copies) < max(0.05, 0.6 - 0.1 * episode), anything, best)
            seen, rewards, *_ = many.step(action)
            following = states(seen)
            reachable = np.where(seen["action_mask"] > 0, values[following], -np.inf).max(axis=1)
            error = rewards + 0.95 * reachable - values[state, action]
            np.add.at(values, (state, action), 0.1 * error)
            state, total = following, total + rewards.mean()
        gains.append(total)
    assert np.mean(gains[-3:]) > np.mean(gains[:2]) + 0.1

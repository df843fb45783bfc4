"""Many worlds in one: each environment of the vector is as one of its own, and a learner learns from all of them."""

from typing import Any

import numpy as np
import pytest

from tickmind.adapters.pettingzoo import actor_env, parallel_env, vector_env
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
        actions = chance.integers(0, len(many.action_names), 6)
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
    text = FINDING.replace("items: {", "items: {coin: {}, ").replace(
        "  bush:",
        "  shop: {holds: 5, sells: {berries: {coin: 1}}, hours: ['08:00', '09:00'], walkable: false}\n  bush:",
    )
    with pytest.raises(ConfigError, match="'found' ends copies at different times"):
        vector_env(parse_scenario(text), 2)


def test_seeds_of_copies_are_one_number_or_one_for_each():
    many = vector_env(parse_scenario(FIELD), 2)
    many.reset(seed=[5, 9])
    assert many.world_seeds == [5, 9]
    many.reset(seed=5)
    assert many.world_seeds == [5, 6]
    many.reset(seed=np.int64(7))
    assert many.world_seeds == [7, 8]
    many.reset(seed=np.array([3, 1], dtype=np.int32))
    assert many.world_seeds == [3, 1]
    with pytest.raises(ConfigError, match="one seed for each of 2 copies"):
        many.reset(seed=[1])
    wrong: Any
    for wrong in (1.5, "7", [1.5, 2.0], [[1, 2]], [None, 1], [-1, 2**70]):
        with pytest.raises(ConfigError, match="a seed must be a whole number"):
            many.reset(seed=wrong)
    single = actor_env(parse_scenario(FIELD))
    assert single.reset(seed=np.int64(5))[0]["body"].tolist() == single.reset(seed=5)[0]["body"].tolist()


def test_the_reward_of_a_small_learner_rises():
    """A table of preferences, by where it sees berries and whether it has some, climbs the gradient of its reward."""
    copies, ticks, chance = 128, 25, np.random.default_rng(3)
    many = vector_env(parse_scenario(FIELD), copies, actor="ada", ticks=ticks, window=2)
    preferences = np.zeros((26 * 2, len(many.action_names)))
    gains = []
    for episode in range(18):
        seen, _ = many.reset(seed=episode * copies)
        steps, rewards = [], []
        for _ in range(ticks):
            berries = (seen["tiles"][..., 3] > 0).reshape(copies, 25)
            where = np.where(berries[:, 12], 12, np.where(berries.any(axis=1), berries.argmax(axis=1), 25))
            state = where * 2 + (seen["body"][:, -1] > 0)
            weights = np.exp(preferences[state]) * seen["action_mask"]
            weights /= weights.sum(axis=1, keepdims=True)
            action = (weights.cumsum(axis=1) > chance.random((copies, 1))).argmax(axis=1)
            seen, reward, *_ = many.step(action)
            steps.append((state, action, weights))
            rewards.append(reward)
        to_come = np.cumsum(rewards[::-1], axis=0)[::-1]
        for (state, action, weights), gain in zip(steps, to_come, strict=True):
            better = (gain - gain.mean())[:, None] * (np.eye(weights.shape[1])[action] - weights)
            np.add.at(preferences, state, 0.3 * better)
        gains.append(float(np.sum(rewards) / copies))
    assert np.mean(gains[-5:]) > np.mean(gains[:5]) + 0.05

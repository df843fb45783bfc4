"""Environments for learners: many small worlds in one beside MAgent2's battle, both with what all agents observe."""

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Result, paired
from tickmind.adapters.pettingzoo import actor_env, vector_env
from tickmind.adapters.pettingzoo.actor_env import ActorEnv
from tickmind.world import parse_scenario

COPIES = 1_024
TICKS = 200  # of one episode; copies begin again while it is measured
ROUNDS, STEPS = 7, 40
PLANS = 16  # actions are drawn beforehand, as a learner's own time is not ours
BAR_PER_S = 500_000.0  # agent steps on one core
TIMES_PEER = 1.5
DAY = 240  # ticks of the bakery
BAKERIES, LEARNED_STEPS = 8, 46_080
JUDGED = range(1000, 1008)  # seeds that no learner has seen
SMALL = """
world: berry_field
seed: 1
rules: {sight_radius: 5, hearing_radius: 5, inventory_limit: 10, needs: {hunger_per_tick: 3, starvation: false}}
floors: {grass: {}, water: {walkable: false}, rock: {walkable: false, opaque: true}}
items: {berries: {use: {hunger: -150}}}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 12, spread: 8}}
map: |
  b......~~b
  ..1....~..
  ....#...2.
  .b..##....
  ......5...
  ...6...b..
  .....#....
  .3......4.
  ..b....7..
  8........b
legend:
  ".": grass
  "~": water
  "#": rock
  b: {floor: grass, object: bush}
  "1": {floor: grass, actor: {id: eater_1}}
  "2": {floor: grass, actor: {id: eater_2}}
  "3": {floor: grass, actor: {id: eater_3}}
  "4": {floor: grass, actor: {id: eater_4}}
  "5": {floor: grass, actor: {id: eater_5}}
  "6": {floor: grass, actor: {id: eater_6}}
  "7": {floor: grass, actor: {id: eater_7}}
  "8": {floor: grass, actor: {id: eater_8}}
"""


def our_steps() -> Callable[[], int]:
    """Return what makes some steps in 1,024 berry fields, with observations and masks, and counts the agents'."""
    environment = vector_env(parse_scenario(SMALL), COPIES, ticks=TICKS)
    environment.reset(seed=1)
    chance = np.random.default_rng(1)
    plans = [chance.integers(0, len(environment.action_names), environment.num_envs) for _ in range(PLANS)]

    def steps() -> int:
        for step in range(STEPS):
            environment.step(plans[step % PLANS])
        return STEPS * environment.num_envs

    return steps


def their_steps() -> Callable[[], int]:
    """Return what makes some steps in MAgent2's battle, through PettingZoo as it comes, and counts the agents'."""
    from magent2.environments import battle_v4

    environment = battle_v4.parallel_env(map_size=45, max_cycles=10_000)
    environment.reset(seed=1)
    chance = np.random.default_rng(1)

    def steps() -> int:
        done = 0
        for _ in range(STEPS):
            if not environment.agents:
                environment.reset(seed=1)
            agents = environment.agents
            actions = chance.integers(0, 21, len(agents)).tolist()
            environment.step(dict(zip(agents, actions, strict=True)))
            done += len(agents)
        return done

    return steps


def _rates(sides: list[Callable[[], int]]) -> list[list[float]]:
    """Return for each side its agent steps per second of CPU time, round by round, by turns."""
    rates: list[list[float]] = [[] for _ in sides]
    for turn in range(ROUNDS + 1):
        for side, steps in enumerate(sides):
            began = time.process_time()
            count = steps()
            if turn:
                rates[side].append(count / (time.process_time() - began))
    return rates


def many_worlds() -> list[Result]:
    """Agent steps per second on one core in 1,024 small worlds, and beside MAgent2's battle."""
    has_peer = importlib.util.find_spec("magent2") is not None
    rates = _rates([our_steps(), their_steps()] if has_peer else [our_steps()])
    unit, bars = "agent steps/s", [BAR_PER_S] * ROUNDS
    results = [paired("learners/steps", rates[0], bars, unit=unit, peer_name="the bar", bar=1.0, more_is_better=True)]
    if has_peer:
        name = "MAgent2's battle"
        results.append(
            paired("learners/magent2", *rates, unit=unit, peer_name=name, bar=TIMES_PEER, more_is_better=True)
        )
    return results


def bakery() -> ActorEnv:
    """Return the bakery as one baker sees it, three tiles to each side."""
    return actor_env("bakery", actor="nora", ticks=DAY, window=3, flat=True)


def mean_score(policy: Callable[[Any], int], seeds: range) -> float:
    """Return what nora scores in a day of the bakery, the mean over some seeds."""
    environment = bakery()
    total = 0.0
    for seed in seeds:
        seen, _ = environment.reset(seed=seed)
        over = False
        while not over:
            seen, reward, terminated, truncated, _ = environment.step(policy(seen))
            total += reward
            over = terminated or truncated
    return total / len(seeds)


def a_learner() -> list[Result]:
    """The score of stable-baselines3's PPO after some days in eight bakeries, beside one that acts by chance.

    It is no peer of `bench.in`, as PyTorch comes with 5 GB of CUDA for it: install stable-baselines3 to measure it.
    """
    if importlib.util.find_spec("stable_baselines3") is None:
        return []
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    chance = np.random.default_rng(1)
    choices = len(bakery().action_names)
    by_chance = mean_score(lambda _seen: int(chance.integers(choices)), JUDGED)
    bakeries = DummyVecEnv([bakery] * BAKERIES)
    learner = PPO("MlpPolicy", bakeries, seed=1, device="cpu", n_steps=DAY, batch_size=DAY, gamma=0.995, ent_coef=0.01)
    learner.learn(LEARNED_STEPS)
    learned = mean_score(lambda seen: int(learner.predict(seen)[0]), JUDGED)
    unit, name = "points a day", "acting by chance"
    return [paired("learners/ppo", [learned], [by_chance], unit=unit, peer_name=name, bar=1.5, more_is_better=True)]


BENCHMARKS = [many_worlds, a_learner]

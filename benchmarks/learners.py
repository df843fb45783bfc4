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
LEARNERS = (1, 2)  # their seeds
TIMES_CHANCE, LEAST_RISE = 3.0, 0.25
JUDGED = range(1000, 1016)  # seeds that no learner has seen
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


def by_chance(seed: int) -> float:
    """Return the score of one that draws each action."""
    dice, choices = np.random.default_rng(seed), len(bakery().action_names)
    return mean_score(lambda _seen: int(dice.integers(choices)), JUDGED)


def learned(seed: int) -> tuple[float, float]:
    """Return the scores of stable-baselines3's PPO before and after it has learned in eight bakeries.

    Codes of tiles are small numbers of 0 to 1 in a flat observation, so it sees them through `VecNormalize`.
    """
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    torch.set_num_threads(1)
    bakeries = VecNormalize(DummyVecEnv([bakery] * BAKERIES), norm_reward=False)
    learner = PPO(
        "MlpPolicy", bakeries, seed=seed, device="cpu", n_steps=DAY, batch_size=2 * DAY, gamma=0.99, ent_coef=0.01
    )

    def score() -> float:
        bakeries.training = False  # the judged days don't change how it sees
        scored = mean_score(lambda seen: int(learner.predict(bakeries.normalize_obs(seen))[0]), JUDGED)
        bakeries.training = True
        return scored

    before = score()
    learner.learn(LEARNED_STEPS)
    return before, score()


def a_learner() -> list[Result]:
    """The score of stable-baselines3's PPO in days that it has not seen, beside one that acts by chance.

    It is no peer of `bench.in`, as PyTorch comes with 5 GB of CUDA in most places: `make learner` installs it.
    """
    if importlib.util.find_spec("stable_baselines3") is None:
        print("  stable-baselines3 is not installed here, so no learner is measured: make learner")
        return []
    before, after = zip(*(learned(seed) for seed in LEARNERS), strict=True)
    chance = [by_chance(seed) for seed in LEARNERS]
    unit, name = "points a day", "acting by chance"
    print(f"  PPO by seed: before {before}, after {LEARNED_STEPS:,} steps {after}; by chance {chance}")
    rise = min(late - early for late, early in zip(after, before, strict=True))
    return [
        paired("learners/ppo", list(after), chance, unit=unit, peer_name=name, bar=TIMES_CHANCE, more_is_better=True),
        Result("learners/ppo: smallest rise of a seed", rise, unit, "the bar", LEAST_RISE, rise / LEAST_RISE, 1.0),
    ]


BENCHMARKS = [many_worlds, a_learner]

"""Many berry fields in one world, and a small learner that finds out what to do there. No model, no server, no clock.

python examples/21_learner.py
"""

import argparse

import numpy as np

from tickmind.adapters.pettingzoo import vector_env
from tickmind.world import parse_scenario

FIELD = """
world: berry_field
rules: {sight_radius: 2, inventory_limit: 5, needs: {hunger_per_tick: 5}}
floors: {grass: {}}
items: {berries: {use: {hunger: -150}}}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 6, spread: 4}}
map: |
  .b....
  ...1..
  ....b.
legend:
  ".": grass
  b: {floor: grass, object: bush}
  "1": {floor: grass, actor: {id: ada, hunger: 400}}
"""
COPIES, TICKS, RATE = 128, 25, 0.3


def main() -> None:
    """Climb the gradient of the reward with a table of preferences: by where berries are, and whether it has some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=20, help="how many episodes to learn from (default: 20)")
    options = parser.parse_args()

    worlds = vector_env(parse_scenario(FIELD), COPIES, ticks=TICKS)
    chance = np.random.default_rng(3)
    preferences = np.zeros((26 * 2, len(worlds.action_names)))
    print(f"{COPIES} worlds of {TICKS} ticks; actions: {', '.join(worlds.action_names)}")
    for episode in range(options.ticks):
        seen, _ = worlds.reset(seed=episode * COPIES)
        steps, rewards = [], []
        for _ in range(TICKS):
            berries = (seen["tiles"][..., 3] > 0).reshape(COPIES, 25)  # which tiles have a stock
            where = np.where(berries[:, 12], 12, np.where(berries.any(axis=1), berries.argmax(axis=1), 25))
            state = where * 2 + (seen["body"][:, -1] > 0)
            weights = np.exp(preferences[state]) * seen["action_mask"]
            weights /= weights.sum(axis=1, keepdims=True)
            action = (weights.cumsum(axis=1) > chance.random((COPIES, 1))).argmax(axis=1)
            seen, reward, *_ = worlds.step(action)
            steps.append((state, action, weights))
            rewards.append(reward)
        to_come = np.cumsum(rewards[::-1], axis=0)[::-1]
        for (state, action, weights), gain in zip(steps, to_come, strict=True):
            better = (gain - gain.mean())[:, None] * (np.eye(weights.shape[1])[action] - weights)
            np.add.at(preferences, state, RATE * better)
        print(f"episode {episode:2}: mean reward {np.sum(rewards) / COPIES:+.3f}")


if __name__ == "__main__":
    main()

"""The bakery that comes with tickmind: the whole trade scores, and nothing else does."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

from tickmind.adapters.pettingzoo import actor_env, parallel_env, vector_env

DAY = 240
STALL, MILL, OVEN, FIELDS = (12, 7), (5, 3), (12, 3), [(x, y) for y in range(1, 6) for x in (1, 2)]
MOVES = {
    "move_n": (0, -1), "move_ne": (1, -1), "move_e": (1, 0), "move_se": (1, 1),
    "move_s": (0, 1), "move_sw": (-1, 1), "move_w": (-1, 0), "move_nw": (-1, -1),
}  # fmt: skip


class Baker:
    """Does the whole trade: gathers, grinds, bakes and sells, all at the map's known places."""

    def __init__(self, env):
        self.env = env
        self.names = list(env.action_names)

    def act(self, seen):
        body = dict(zip(self.env.body_names, seen["body"], strict=True))
        can = {name for name, may in zip(self.names, seen["action_mask"], strict=True) if may}
        has = {item: round(30 * body[f"carried_{item}"]) for item in ("bread", "coin", "flour", "grain")}
        me = round(15 * body["x"]), round(9 * body["y"])
        if "sell" in can and has["bread"] and 8 / 24 <= body["time"] < 18 / 24:
            return self.names.index("sell")
        if has["bread"] >= 6 or (has["bread"] > 1 and body["time"] > 15 / 24 and not has["flour"]):
            return self.walk(me, STALL, can)
        if has["flour"]:
            return self.names.index("bake") if "bake" in can else self.walk(me, OVEN, can)
        if has["grain"] >= 2:
            return self.names.index("grind") if "grind" in can else self.walk(me, MILL, can)
        if "pick_up_grain" in can:
            return self.names.index("pick_up_grain")
        return self.walk(me, FIELDS[(FIELDS.index(me) + 1) % len(FIELDS)] if me in FIELDS else FIELDS[4], can)

    def walk(self, me, to, can):
        """The step that leads nearest."""

        def distance(name):
            x, y = me[0] + MOVES[name][0] - to[0], me[1] + MOVES[name][1] - to[1]
            return max(abs(x), abs(y)), abs(x) + abs(y)

        return self.names.index(min(sorted(can & MOVES.keys()), key=distance))


def play(env, seed):
    """The rewards of a day."""
    seen, _ = env.reset(seed=seed)
    baker, rewards, over = Baker(env), [], False
    while not over:
        seen, reward, ended, truncated, _ = env.step(baker.act(seen))
        rewards.append(reward)
        over = ended or truncated
    return rewards


@pytest.mark.parametrize("seed", [1, 2])
def test_who_does_the_whole_trade_scores_for_each_of_its_steps(seed):
    rewards = play(actor_env("bakery", actor="nora", ticks=DAY), seed)
    assert [reward for reward in rewards if reward][:4] == [1, 2, 3, 5]
    assert sum(rewards) >= 21


def test_the_stall_pays_for_bread_and_only_while_it_is_open():
    env = actor_env("bakery", actor="pia", ticks=DAY)
    seen, _ = env.reset(seed=1)
    names, baker = list(env.action_names), Baker(env)
    body = {name: place for place, name in enumerate(env.body_names)}
    opened = []  # at the stall: whether it was open, and the coins after trying to sell
    for _ in range(60):
        can = {name for name, may in zip(names, seen["action_mask"], strict=True) if may}
        now = seen["body"]
        place = round(15 * now[body["x"]]), round(9 * now[body["y"]])
        seen, *_ = env.step(names.index("sell") if "sell" in can else baker.walk(place, STALL, can))
        if "sell" in can:
            opened.append((now[body["time"]] >= 8 / 24, round(30 * seen["body"][body["carried_coin"]])))
    assert opened[0] == (False, 0)
    assert {coins for is_open, coins in opened if not is_open} == {0}
    assert opened[-1] == (True, 2)  # the one loaf that she had


def test_it_is_an_environment_with_three_bakers_and_many_bakeries_at_once():
    parallel_api_test(parallel_env("bakery", ticks=40), num_cycles=100)
    many = vector_env("bakery", copies=3, ticks=20)
    observations, _ = many.reset(seed=1)
    assert observations["tiles"].shape[0] == many.num_envs == 9
    for _ in range(25):
        observations, *_ = many.step(np.zeros(9, dtype=np.int64))
    assert many.world_seeds != [1, 2, 3]

"""The environments keep to the conventions of PettingZoo and Gymnasium, by these packages' own tests."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test

from tickmind.adapters.pettingzoo import actor_env, env, parallel_env, vector_env
from tickmind.base import ConfigError
from tickmind.world import parse_scenario

FIELD = """
world: field
seed: 5
rules: {sight_radius: 4, inventory_limit: 5, needs: {hunger_per_tick: 5}}
floors: {grass: {}, water: {walkable: false}}
items: {berries: {use: {hunger: -150}}}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 6, spread: 4}}
map: |
  .b..~.
  ......
  ..b.1.
  .2..b.
legend:
  ".": grass
  "~": water
  b: {floor: grass, object: bush}
  "1": {floor: grass, actor: {id: ada}}
  "2": {floor: grass, actor: {id: bo, hunger: 500, inventory: {berries: 2}}}
"""


@pytest.fixture(scope="module")
def field():
    return parse_scenario(FIELD)


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_the_parallel_environment_passes_the_test_of_pettingzoo(field):
    parallel_api_test(parallel_env(field, ticks=30), num_cycles=70)
    parallel_api_test(parallel_env(field, ticks=30, flat=True), num_cycles=40)


def test_equal_seeds_give_equal_episodes(field):
    parallel_seed_test(lambda: parallel_env(field, ticks=30), num_cycles=60)


@pytest.mark.parametrize("seed", [1.5, "3", True, [1], np.float64(2)])
def test_a_seed_that_is_no_whole_number_is_refused(field, seed):
    for environment in (parallel_env(field, ticks=30), actor_env(field, actor="ada", ticks=30)):
        with pytest.raises(ConfigError, match="whole number"):
            environment.reset(seed=seed)


def test_the_sequential_environment_passes_the_test_of_pettingzoo():
    field = parse_scenario(FIELD.replace("ada", "eater_1").replace("bo,", "eater_2,"))  # as it wants them to be named
    api_test(env(field, ticks=20, flat=True), num_cycles=50)
    with warnings.catch_warnings():
        # PettingZoo says so of all observations with parts but those of some games that it knows by name.
        warnings.filterwarnings("ignore", message="Observation (space )?.*(NumPy array|Box|Discrete).*")
        api_test(env(field, ticks=20), num_cycles=30)


def test_the_environment_of_one_actor_passes_the_check_of_gymnasium(field):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*spec.*")  # it is made by a function, not by a registered name
        check_env(actor_env(field, actor="bo", ticks=30, render_mode="rgb_array"), skip_render_check=False)


def test_others_wait_or_follow_a_policy(field):
    for policy, moved in ((None, False), (lambda _seen: 1, True)):
        environment = actor_env(field, actor="ada", others=policy, render_mode="ansi")
        environment.reset(seed=1)
        before = environment.render()
        environment.step(0)
        assert (environment.render() != before) is moved


@pytest.mark.parametrize(
    ("action", "words"), [(99, "go from 0"), (-1, "go from 0"), (1.5, "whole numbers"), (float("nan"), "whole numbers")]
)
def test_actions_that_are_none_are_refused_in_words(field, action, words):
    single = actor_env(field)
    single.reset()
    with pytest.raises(ConfigError, match=words):
        single.step(action)
    together = parallel_env(field)
    together.reset()
    with pytest.raises(ConfigError, match=f"ada.*{words}"):
        together.step({"ada": action})
    many = vector_env(field, 2)
    many.reset()
    with pytest.raises(ConfigError, match=words):
        many.step(np.array([0, 0, 0, action]))
    with pytest.raises(ConfigError, match="4 numbers"):
        many.step([0, 0])


def test_an_unknown_actor_or_scenario_is_refused_in_words(field):
    with pytest.raises(ConfigError, match="no actor 'eve'"):
        actor_env(field, actor="eve")
    with pytest.raises(ConfigError, match="no scenario 'nowhere'"):
        parallel_env("nowhere")
    with pytest.raises(ConfigError, match="from 0 to 4"):
        parallel_env(field, window=9)
    with pytest.raises(ConfigError, match="nothing to learn"):
        parallel_env(
            parse_scenario(
                FIELD.replace("needs: {hunger_per_tick: 5}", "hearing_radius: 4").replace("use: {hunger: -150}", "")
            )
        )


def test_the_mask_is_what_the_world_then_allows(field):
    """Bo stands on grass with two berries: it can eat, and picks up nothing until it stands at a bush."""
    environment = parallel_env(field)
    observed, infos = environment.reset(seed=3)
    names = environment.action_names
    mask = dict(zip(names, observed["bo"]["action_mask"].tolist(), strict=True))
    assert mask["use_berries"]
    assert not mask["pick_up_berries"]
    assert not mask["give_berries"]
    assert (infos["bo"]["action_mask"] == observed["bo"]["action_mask"]).all()
    _, rewards, *_ = environment.step({"bo": names.index("use_berries")})
    assert rewards["bo"] > rewards["ada"]


def test_an_image_and_a_text_show_the_map(field):
    for mode in ("rgb_array", "ansi"):
        environment = parallel_env(field, render_mode=mode)
        environment.reset()
        shown = environment.render()
        if mode == "ansi":
            assert isinstance(shown, str)
            assert shown.splitlines()[2:] == ["..b.@.", ".@..b."]
        else:
            assert isinstance(shown, np.ndarray)
            assert shown.shape == (4 * 8, 6 * 8, 3)
            assert shown.dtype == np.uint8
    with pytest.raises(ConfigError, match="rgb_array, ansi"):
        parallel_env(field, render_mode="human")


def test_a_chain_of_supersuits_wrappers_goes_around_it():
    supersuit = pytest.importorskip("supersuit", reason="its tinyscaler has no wheel for this Python")
    wrapped = supersuit.black_death_v3(parallel_env("bakery", ticks=30, flat=True))
    wrapped = supersuit.frame_stack_v1(supersuit.dtype_v0(wrapped, np.float32), 3)
    wrapped = supersuit.agent_indicator_v0(supersuit.clip_reward_v0(wrapped))
    parallel_api_test(wrapped, num_cycles=100)
    many = supersuit.concat_vec_envs_v1(
        supersuit.pettingzoo_env_to_vec_env_v1(wrapped), 2, num_cpus=0, base_class="gymnasium"
    )
    observations, _ = many.reset(seed=1)
    assert observations.shape == (6, wrapped.observation_space("nora").shape[0])
    for _ in range(70):  # over the end of two episodes
        observations, *_ = many.step(np.zeros(6, dtype=np.int64))
    assert np.isfinite(observations).all()


def test_after_the_end_no_actions_give_nothing_and_others_are_refused(field):
    environment = parallel_env(field, ticks=1)
    environment.reset(seed=1)
    environment.step({"ada": 0, "bo": 0})
    assert environment.step({}) == ({}, {}, {}, {}, {})
    with pytest.raises(ConfigError, match="the episode is over"):
        environment.step({"ada": 0})

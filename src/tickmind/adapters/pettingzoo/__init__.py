"""A scenario as an environment for learners: PettingZoo's and Gymnasium's interfaces over the tile world.

    environment = parallel_env("clearing", seed=1, ticks=500)      # PettingZoo: all actors at once
    environment = env("clearing")                                  # PettingZoo: one actor after another (AEC)
    environment = actor_env("clearing", actor="entity:1")          # Gymnasium: one actor
    environments = vector_env("clearing", copies=1024)             # Gymnasium: many worlds in one, for speed

It needs the extra `learn`: `pip install 'tickmind[learn,world]'`. A scenario is a name of those that come with
tickmind, a path, or a `Scenario`. Nothing here waits for a clock: a tick takes what its rules take.
"""

from tickmind.adapters.pettingzoo.making import actor_env, env, parallel_env, vector_env

__all__ = ["actor_env", "env", "parallel_env", "vector_env"]

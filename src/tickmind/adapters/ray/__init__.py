"""Characters and trials on a Ray cluster; needs the extra `ray` on every machine.

`RayLauncher` starts agents of a runner there, `RayExecutor` the trials of an experiment. Ray places them, and starts
them elsewhere when a machine dies; observations and intents never pass through it.
"""

from tickmind.adapters.ray.cluster import RayCluster, connect_ray
from tickmind.adapters.ray.executor import RayExecutor
from tickmind.adapters.ray.launcher import RayLauncher

__all__ = ["RayCluster", "RayExecutor", "RayLauncher", "connect_ray"]

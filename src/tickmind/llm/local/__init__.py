"""A real model on this machine: no key, no network service, nothing compiled.

`LocalModel("smollm2-135m")` runs a llama.cpp server as a child process; `WeightStore` keeps checked weights in the
user's cache; `choose_model()` says which model a user gets when nothing was configured; `RuntimeLadder` finds the
fastest llama.cpp server that works here.
"""

from tickmind.llm.local.cache import CACHE_VARIABLE, cache_folder
from tickmind.llm.local.model_choice import LadderFacts, ModelChoice, ModelKind, choose_model, gather_facts
from tickmind.llm.local.runtimes.install import install_runtimes
from tickmind.llm.local.runtimes.ladder import Rung, RuntimeLadder
from tickmind.llm.local.runtimes.runtime import KNOWN_RUNTIMES, Runtime, RuntimeSource, find_runtimes
from tickmind.llm.local.runtimes.trial import Trial, TrialVerdict
from tickmind.llm.local.server import LocalModel
from tickmind.llm.local.weights import KNOWN_WEIGHTS, KnownWeights, WeightState, WeightStore

__all__ = [
    "CACHE_VARIABLE",
    "KNOWN_RUNTIMES",
    "KNOWN_WEIGHTS",
    "KnownWeights",
    "LadderFacts",
    "LocalModel",
    "ModelChoice",
    "ModelKind",
    "Rung",
    "Runtime",
    "RuntimeLadder",
    "RuntimeSource",
    "Trial",
    "TrialVerdict",
    "WeightState",
    "WeightStore",
    "cache_folder",
    "choose_model",
    "find_runtimes",
    "gather_facts",
    "install_runtimes",
]

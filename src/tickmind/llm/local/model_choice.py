"""The model that a user gets by default: gateway, own endpoint, capable model, tiny one, scripted double."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from tickmind.llm.config import default_base_url, setting_lookup
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.runtimes.runtime import find_runtimes
from tickmind.llm.local.weights import KNOWN_WEIGHTS, KnownWeights, WeightStore

SCRIPTED = "scripted"
_HERE = "the llama.cpp server on this machine"


class ModelKind(StrEnum):
    """The rungs of the ladder, the best first."""

    GATEWAY = "gateway"
    ENDPOINT = "endpoint"
    LOCAL = "local"
    LOCAL_TINY = "local-tiny"
    SCRIPTED = "scripted"
    CASSETTE = "cassette"  # not a rung: a recording that the caller asked for


@dataclass(frozen=True, slots=True)
class LadderFacts:
    """The facts that the choice depends on."""

    base_url: str = ""
    gateway_url: str = ""
    model: str = ""
    api: str = ""
    has_key: bool = False  # whether LLM_API_KEY is set; a provider's own key alone is no consent to spend
    installed: tuple[str, ...] = ()
    runtime: str = ""  # where a llama.cpp server was found, empty where none was
    runtime_problem: str = ""  # why one that was asked for can't be used


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The chosen model. `why` is a sentence for the user: which model it is, and how to get a better one."""

    kind: ModelKind
    name: str
    why: str
    base_url: str = ""

    @property
    def is_real(self) -> bool:
        """Whether a model answers, and not a script."""
        return self.kind not in (ModelKind.SCRIPTED, ModelKind.CASSETTE)

    @property
    def weights(self) -> str:
        """The weights for `LocalModel`, empty on the other rungs."""
        return self.name if self.kind in (ModelKind.LOCAL, ModelKind.LOCAL_TINY) else ""


def gather_facts(
    env: Mapping[str, str] | None = None,
    *,
    store: WeightStore | None = None,
    dotenv_path: str | Path | None = None,
) -> LadderFacts:
    """Look at the environment and the nearest `.env`, the cache and the packages; nothing is started or fetched."""
    env = os.environ if env is None else env
    look_up = setting_lookup(env, dotenv_path=dotenv_path)
    store = store or WeightStore(env=env)
    where, problem = "", ""
    try:
        where = next((runtime.found for runtime in find_runtimes(env, folder=store.cache)), "")
    except LLMConfigError as error:
        problem = str(error)
    return LadderFacts(
        base_url=look_up("LLM_BASE_URL") or "",
        gateway_url=look_up("LLM_GATEWAY_URL") or "",
        model=look_up("LLM_MODEL") or "",
        api=look_up("LLM_API") or "",
        has_key=look_up("LLM_API_KEY") is not None,
        installed=store.installed(),
        runtime=where,
        runtime_problem=problem,
    )


def choose_model(facts: LadderFacts | None = None, *, known: tuple[KnownWeights, ...] = KNOWN_WEIGHTS) -> ModelChoice:
    """Decide by the facts alone; without any, they are gathered here."""
    facts = gather_facts() if facts is None else facts
    if facts.gateway_url:
        host = urlsplit(facts.gateway_url).hostname or "its address"
        why = f"Using {facts.model or 'its default model'} of the gateway at {host}, because LLM_GATEWAY_URL is set."
        return ModelChoice(ModelKind.GATEWAY, facts.model or "default", why, facts.gateway_url)
    if facts.base_url or facts.has_key:
        url, variable = (
            facts.base_url or default_base_url(facts.api),
            "LLM_BASE_URL" if facts.base_url else "LLM_API_KEY",
        )
        host = urlsplit(url).hostname or "the endpoint"
        why = f"Using {facts.model or 'the default model'} at {host}, because {variable} is set."
        return ModelChoice(ModelKind.ENDPOINT, facts.model or "default", why, url)
    best = next((weights for weights in known if weights.capable), None)
    advice = f"`tickmind model install {best.name}`" if best else "`tickmind model list`"
    here = [weights for weights in known if weights.name in facts.installed]
    chosen = next((weights for weights in here if weights.capable), here[0] if here else None)
    if chosen is not None and facts.runtime:
        if chosen.capable:
            why = f"Using {chosen.title} with {_HERE}; set LLM_BASE_URL to use a larger model elsewhere."
            return ModelChoice(ModelKind.LOCAL, chosen.name, why)
        why = (
            f"Using the tiny {chosen.title} with {_HERE}, whose replies make little sense; {advice} gets a better one."
        )
        return ModelChoice(ModelKind.LOCAL_TINY, chosen.name, why)
    return ModelChoice(ModelKind.SCRIPTED, SCRIPTED, _why_scripted(facts, chosen, advice))


def _why_scripted(facts: LadderFacts, chosen: KnownWeights | None, advice: str) -> str:
    begin = "Using a scripted double and no model, because "
    if facts.runtime_problem:
        return f"{begin}{facts.runtime_problem}."
    if chosen is not None:
        advice = f"`tickmind model install {chosen.name}` adds one"
        return f"{begin}{chosen.name} is installed but no llama.cpp server is; {advice}."
    missing = "neither LLM_BASE_URL nor LLM_API_KEY is set and no weights are installed"
    return f"{begin}{missing}; {advice} gets a real model for this machine."

"""The models that predators may ask instead of the mock: a configured endpoint, or one on this machine."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from tickmind.llm import CallConfig, LLMConfigError, ModelClient, load_model_config
from tickmind.llm.local import LocalModel, choose_model
from tickmind.strategy import AsyncLLMClient, LLMConfig, ModelAdapter

ENDPOINT_LIMITS = LLMConfig(
    max_queries_per_tick=1, max_queries_per_second=4, max_in_flight=4, query_timeout=20.0, token_budget=1500
)
ENDPOINT_CALL = CallConfig(temperature=0.7, max_tokens=400, max_retries=1)
LOCAL_SLOTS = 1  # one after the other, so that the role, with which all prompts begin, is read only once
LOCAL_LIMITS = LLMConfig(
    max_queries_per_tick=1, max_queries_per_second=2, max_in_flight=LOCAL_SLOTS, query_timeout=120.0, token_budget=600
)
LOCAL_CALL = CallConfig(temperature=0.7, max_tokens=160, max_retries=0)


@dataclass(frozen=True)
class Answers:
    """A model to ask, what to call it, and how much may be asked of it."""

    client: AsyncLLMClient
    name: str
    limits: LLMConfig


@contextlib.contextmanager
def chosen_model(*, endpoint: bool, local: bool) -> Iterator[Answers | None]:
    """The model that was asked for, ready to answer; None is the mock."""
    if endpoint:
        config = load_model_config()
        yield Answers(ModelAdapter(ModelClient(config), ENDPOINT_CALL), config.model, ENDPOINT_LIMITS)
    elif local:
        choice = choose_model()
        if not choice.weights:
            raise LLMConfigError(f"There is no model to run here. {choice.why}")
        print(choice.why, "It takes a moment to start.", flush=True)
        with LocalModel(choice.weights, slots=LOCAL_SLOTS) as model:
            answers = ModelAdapter(
                ModelClient(model.model_config()), LOCAL_CALL, extra_for=lambda eid: model.extra_for(str(eid))
            )
            yield Answers(answers, choice.name, LOCAL_LIMITS)
    else:
        yield None

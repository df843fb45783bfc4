"""`tickmind story --prose`: a chronicle whose parts a model has retold, as far as its words pass the checks."""

import asyncio
from typing import TYPE_CHECKING

from tickmind.base import TickmindError, get_logger
from tickmind.llm import CallConfig, Message, ModelConfig, load_model_config
from tickmind.llm.local import ModelChoice, ModelKind, choose_model
from tickmind.llm.local.default_model import open_default_model
from tickmind.record.story import Chronicle, ChroniclePart
from tickmind.record.story.prose import PROSE_TASK, checked_prose, prose_question, with_prose

if TYPE_CHECKING:
    from tickmind.llm.local.default_model import DefaultModel

PROSE_TOKENS = 1500  # of a reply, with what a model thinks before it
AT_ONCE = 4  # questions
_log = get_logger(__name__)


def retold(told: Chronicle, *, model: str = "", base_url: str = "") -> tuple[Chronicle, str]:
    """Return a chronicle in a model's prose, and a sentence on what became of it.

    A part keeps the sentences by code if there is no model, its call fails or its words do not pass the checks.
    """
    named = load_model_config(base_url=base_url or None, model=model or None) if model or base_url else None
    choice = named or choose_model()
    if isinstance(choice, ModelChoice) and choice.kind is ModelKind.SCRIPTED:
        return told, "There is no model (set LLM_BASE_URL, or `tickmind model install`); all of it is told by code."
    return asyncio.run(_retold(told, choice))


async def _retold(told: Chronicle, choice: ModelChoice | ModelConfig) -> tuple[Chronicle, str]:
    parts = [part for day in told.days for part in day.parts]
    free = asyncio.Semaphore(AT_ONCE)
    async with open_default_model(choice, slots=1) as opened:

        async def tell(part: ChroniclePart) -> str:
            async with free:
                return await _tell(opened, part, told.people)

        prose = await asyncio.gather(*map(tell, parts))
        name = opened.client.config.model
    count = sum(map(bool, prose))
    return with_prose(told, prose), f"{count} of {len(parts)} parts are told by {name}, the others by code."


async def _tell(opened: "DefaultModel", part: ChroniclePart, names: tuple[str, ...]) -> str:
    messages = (Message.system(PROSE_TASK), Message.user(prose_question(part)))
    try:
        result = await opened.client.complete(messages, CallConfig(max_tokens=PROSE_TOKENS))
    except TickmindError as error:
        _log.warning("a part of the story stays as code tells it: the model's call failed", error=str(error))
        return ""
    return checked_prose(result.content, part, names) if result.finish_reason != "length" else ""

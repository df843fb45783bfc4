"""A scripted stand-in for a model in a village: choices and plans that fit the prompt of a `villager`.

    FakeProvider(villager_says)

It is for demonstrations and tests on machines without a model. Equal prompts get equal answers.
"""

import random
import re

from tickmind.llm.cassettes.format import request_key
from tickmind.llm.scripted.transport import last_user_text
from tickmind.llm.tokens import estimate_messages_tokens, estimate_tokens
from tickmind.llm.transport import ModelReply, ModelRequest, Usage
from tickmind.mind.options import read_menu
from tickmind.mind.reflection import REFLECT_TASK
from tickmind.mind.talk.extraction import EXTRACT_TASK
from tickmind.mind.talk.wording_task import line_asked

_HUNGER = re.compile(r"Hunger (\d+) %")
_DAY = re.compile(r"^Your usual day: (.*)\.$", re.MULTILINE)
_FOOD = ("eat", "fetch", "buy")  # what the words of options begin with that still hunger
_HUNGRY = 50  # percent


def villager_says(request: ModelRequest) -> ModelReply:
    """Return a choice that fits the situation in the prompt, or what else is asked for."""
    prompt = last_user_text(request)
    rng = random.Random(request_key(request))
    text = _answer(prompt) or _choice(prompt, rng)
    usage = Usage(estimate_messages_tokens(request.messages), estimate_tokens(text))
    return ModelReply(text, "stop", usage=usage, model=request.model)


def _answer(prompt: str) -> str:
    """Return the line that is to be worded, the usual day as a plan, or that nothing follows; else nothing."""
    line, day = line_asked(prompt), _DAY.search(prompt)
    if line:
        return line
    if day is not None:
        return day[1].replace("; ", "\n")
    if prompt.endswith(EXTRACT_TASK):
        return "nothing"
    return "Nothing follows." if prompt.endswith(REFLECT_TASK) else ""


def _choice(prompt: str, rng: random.Random) -> str:
    """Return what still hunger if there is need, else one of the first options, most often the first."""
    options = read_menu(prompt)
    if not options:
        return ""
    hunger = _HUNGER.search(prompt)
    food = [option for option in options if option.startswith(_FOOD)]
    if hunger is not None and int(hunger[1]) > _HUNGRY and food:
        return food[0]
    return options[min(rng.randrange(len(options)), rng.randrange(len(options)))]

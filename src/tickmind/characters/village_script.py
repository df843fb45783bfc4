"""A scripted stand-in for a model in a village: plans and small talk that fit the prompt of a `villager`.

    FakeProvider(villager_says)

It is for demonstrations and tests on machines without a model. Equal prompts get equal answers.
"""

import json
import random
import re

from tickmind.llm.cassettes.format import request_key
from tickmind.llm.testing.scripted import last_user_text
from tickmind.llm.tokens import estimate_messages_tokens, estimate_tokens
from tickmind.llm.transport import ModelReply, ModelRequest, Usage
from tickmind.mind.people import spoken_id
from tickmind.mind.reflection import REFLECT_TASK

_HUNGER = re.compile(r"Hunger (\d+) %")
_ENERGY = re.compile(r"energy (\d+) %")
_NEAR = re.compile(r"^Near you, in steps: (.*)\.$", re.MULTILINE)
_PERSON = re.compile(r"([\w:-]+) \d+")
_QUOTE = re.compile(r'^"?([\w:-]+)"? said: "', re.MULTILINE)
_LINE = re.compile(r'^Say to .* in your own words: "(.*)"$', re.MULTILINE)
_DAY = re.compile(r"^Your usual day: (.*)\.$", re.MULTILINE)
_HUNGRY = ("My stomach is growling.", "I could eat a whole loaf.", "Time to look for something to eat.")
_TIRED = ("What a long day. I am going home.", "I can hardly keep my eyes open.")
_GREETINGS = ("How is the harvest, {who}?", "Lovely weather today, {who}.", "Have you been to the market, {who}?")
_REPLIES = ("So they say, {who}.", "You are right, {who}. I will think about it.", "Let us meet at the well, {who}.")
_MUSINGS = (
    "I wonder what lies beyond the stream.",
    "The bread smells good this morning.",
    "Somebody should chop wood.",
)


def villager_says(request: ModelRequest) -> ModelReply:
    """Return a plan that fits the situation in the prompt."""
    prompt = last_user_text(request)
    rng = random.Random(request_key(request))
    text = _answer(prompt) or json.dumps(_plan(prompt, rng))
    usage = Usage(estimate_messages_tokens(request.messages), estimate_tokens(text))
    return ModelReply(text, "stop", usage=usage, model=request.model)


def _answer(prompt: str) -> str:
    """Return the line that is to be worded, the usual day as a plan, or that nothing follows; else nothing."""
    line, day = _LINE.search(prompt), _DAY.search(prompt)
    if line is not None:
        return line[1]
    if day is not None:
        return day[1].replace("; ", "\n")
    return "Nothing follows." if prompt.endswith(REFLECT_TASK) else ""


def _plan(prompt: str, rng: random.Random) -> dict[str, str]:
    hunger, energy = (_number(pattern, prompt) for pattern in (_HUNGER, _ENERGY))
    near = [name for line in _NEAR.findall(prompt) for name in _PERSON.findall(line)]
    who = rng.choice(near) if near else ""
    if hunger > 50:
        return _made("gather", "", rng.choice(_HUNGRY), "I was hungry and looked for food.")
    if 0 < energy < 25:
        return _made("rest", "", rng.choice(_TIRED), "I was tired and went to bed.")
    speakers = [name for name in _QUOTE.findall(prompt) if name in near]
    if speakers:
        to = speakers[-1]
        name, goal = spoken_id(to), rng.choice(("gather", "explore", "wander", "stay"))
        return _made(goal, to, rng.choice(_REPLIES).format(who=name), f"I talked with {name}.")
    if who and rng.random() < 0.7:
        name = spoken_id(who)
        return _made("visit", who, rng.choice(_GREETINGS).format(who=name), f"I met {name} near home.")
    return _made(rng.choice(("explore", "gather", "wander")), "", rng.choice(("", *_MUSINGS)), "")


def _number(pattern: re.Pattern[str], prompt: str) -> int:
    match = pattern.search(prompt)
    return int(match[1]) if match else 0


def _made(goal: str, who: str, say: str, remember: str) -> dict[str, str]:
    return {"goal": goal, "who": who, "say": say, "remember": remember}

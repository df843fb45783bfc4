"""Embeddings of an endpoint: asked for beside the ticks, recorded as thoughts, and the same when lived again."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.character.talking import EMBED, EMBED_TEXTS
from tickmind.agent.character.thinking import EMBEDDINGS, served_tiers
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import PastMinds
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.villager import Villager
from tickmind.llm import Message
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMResponseError
from tickmind.llm.transport import ModelRequest
from tickmind.llm.transports import make_transport
from tickmind.llm.transports.embeddings import FOLDED, EmbeddingForm, folded_row
from tickmind.mind.embeddings import MAX_QUESTIONS, MAX_WANTED, AskedEmbeddings
from tickmind.mind.memory import Memory
from tickmind.protocol import RunInfo, Thought
from tickmind.server.testing import meadow
from tickmind.strategy.clients.client import Deliberation
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

WITH_ENDPOINT = Settings({"embeddings": "endpoint"})


def vector(text):
    """A vector by which anagrams are alike."""
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]


def request_of(*texts):
    return ModelRequest("embedder", (Message.user(json.dumps(texts)),))


def reply_of(*texts):
    """The reply of an endpoint, as the transport passes it on."""
    rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
    body = json.dumps({"data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 3}})
    return EmbeddingForm().decode(body.encode(), request_of(*texts)).content


def test_the_wire_form_is_that_of_an_embeddings_endpoint():
    form = EmbeddingForm()
    body = form.encode(request_of("a melon", "a lemon"), stream=False)
    assert (form.path, body["model"], body["input"]) == ("/embeddings", "embedder", ["a melon", "a lemon"])
    assert len(json.loads(reply_of("a melon", "a lemon"))) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": ["1"]}]},
        {"data": [{"embedding": [True]}]},
        {"data": [{"embedding": [1e999]}]},
        {"data": [{"embedding": "AAAA"}]},
        {"data": [{"embedding": [0.0] * 20_000}]},
        {"data": [{"embedding": [1e308] * 300}]},  # finite, and their sums are not
        {"data": [{"embedding": [10**400]}], "note": "\ud800"},  # half a letter is read by another parser
        {"data": [1]},
        {},
    ],
)
def test_a_reply_without_a_vector_for_each_text_is_an_error(body):
    with pytest.raises(LLMResponseError):
        EmbeddingForm().decode(json.dumps(body).encode(), request_of("a melon"))


@pytest.mark.parametrize("text", ["no list", "[]", "[1]", "{}", json.dumps(["x"] * 65)])
def test_a_request_that_is_no_list_of_texts_is_refused_before_anything_is_sent(text):
    async def ask():
        transport = make_transport(ModelConfig(base_url="http://127.0.0.1:9/v1", api="embeddings", max_attempts=1))
        try:
            await transport.complete(ModelRequest("m", (Message.user(text),)), timeout_s=5)
        finally:
            await transport.aclose()

    with pytest.raises(LLMResponseError, match="texts"):
        asyncio.run(ask())


def test_long_vectors_are_folded_and_stay_as_alike():
    chance = np.random.default_rng(3)
    one, noise = chance.normal(size=1536), chance.normal(size=1536)
    other = one + 0.5 * noise
    pairs = [(one, other), (folded_row(one.tolist()), folded_row(other.tolist()))]
    whole, folded = (float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in pairs)
    assert len(folded_row(one.tolist())) == FOLDED
    assert folded == pytest.approx(whole, abs=0.15)
    assert folded_row([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_a_memory_goes_by_words_until_the_meanings_come():
    embed = AskedEmbeddings()
    memory = Memory(embed=embed)
    memory.note(1, "A melon!")
    memory.note(2, "Three wolves.")
    assert [found.meaning for found in memory.scored(3, "lemon")] == [0.0, 0.0]
    assert embed.wanted(9) == ["A melon!", "Three wolves.", "lemon"]
    memory.learn_meanings(embed.learn(json.loads(reply_of("A melon!", "lemon", "never asked"))))
    assert embed.wanted(9) == ["Three wolves."]
    best = memory.scored(3, "lemon", most=1)[0]
    assert best.entry.text == "A melon!"
    assert best.meaning > 0.4


@pytest.mark.parametrize("reply", [{}, {"1": "AAAA"}, {"x": 3}, {"2363233923": "no base64!"}, {"0": None}])
def test_what_is_no_vector_teaches_nothing(reply):
    embed = AskedEmbeddings()
    embed(["lemon"])
    assert embed.learn(reply) == {}
    assert embed.wanted(2) == ["lemon"]


def test_what_waits_and_what_is_kept_is_bounded():
    embed = AskedEmbeddings()
    texts = [f"text {number}" for number in range(2 * int(MAX_WANTED.maximum))]
    embed(texts)
    assert len(embed.wanted(10_000)) == MAX_WANTED.maximum
    wanted = embed.wanted(60)
    assert len(embed.learn(json.loads(reply_of(*wanted)))) == 60
    assert np.count_nonzero(np.abs(embed(wanted)).sum(axis=1)) == MAX_QUESTIONS.maximum


class Embedder:
    """An endpoint of embeddings as a client."""

    def __init__(self):
        self.asked = []

    async def answer(self, question):
        self.asked.append(question)
        return Deliberation(reply_of(*json.loads(question.user_message)), model="embedder")


class Quiet:
    """A model of words that has nothing to say."""

    def __init__(self):
        self.asked = []

    async def answer(self, question):
        self.asked.append(question)
        return Deliberation("sit for a while")


def turns_of(ticks):
    world = TileWorld.from_scenario(meadow(2))
    for _ in range(ticks):
        seen = world.observe(range(2))
        yield PastTurn(world.tick_id, [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in seen])
        world.step({})


def lived(ticks=14, **host):
    company = CharacterHost(Villager, lambda who: Start(who, WITH_ENDPOINT), **host)
    company.enter(RunInfo("run", 7))
    thoughts: dict[str, list[Thought]] = {}
    for turn in turns_of(ticks):
        play_turn(GuardedHost(company), turn)
        for name, thought in company.take_thoughts():
            thoughts.setdefault(name, []).append(thought)
        if turn.observations[0].tick_id == 2:
            for name in ("entity:1", "entity:2"):
                mind = company.character(name).memory
                for text in ("A melon!", "Three wolves.", "The well is dry."):
                    mind.note(2, text)
                mind.recall(2, "lemon")
    return company, thoughts


def test_a_character_asks_beside_its_ticks_and_is_lived_again_with_what_it_learnt():
    embedder, words = Embedder(), Quiet()
    tiers = {"decide": words, EMBEDDINGS: embedder}
    company, thoughts = lived(client=words, tiers=tiers)
    assert all(len(json.loads(question.user_message)) <= EMBED_TEXTS for question in embedder.asked)
    assert not any("lemon" in question.user_message for question in words.asked)
    mine = [thought for thought in thoughts["entity:1"] if thought.kind == EMBED.name]
    assert mine
    past = PastMinds(thoughts, tiers=frozenset({"decide", EMBEDDINGS}))
    again, _ = lived(past=past)
    company.close()
    assert all(check.equal for check in again.prompt_checks())
    for name in ("entity:1", "entity:2"):
        one, other = company.character(name).memory, again.character(name).memory
        assert one.scored(20, "lemon") == other.scored(20, "lemon")
        assert one.scored(20, "lemon", most=1)[0].entry.text == "A melon!"


def test_a_model_of_words_is_never_asked_for_embeddings():
    words = Quiet()
    company, thoughts = lived(client=words)
    company.close()
    kinds = {thought.kind for thought in thoughts["entity:1"]}
    assert "" in kinds
    assert "embed" not in kinds


def test_the_setting_serves_its_tier():
    assert EMBEDDINGS in served_tiers(WITH_ENDPOINT)
    assert EMBEDDINGS not in served_tiers(Settings({"embeddings": "words"}))

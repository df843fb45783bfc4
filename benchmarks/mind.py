"""One mind with a full memory: what noting, recalling, keeping and holding it cost, each within its limit.

The memory has 600 entries of a village's days. By meaning: with the embeddings of words (extra `mind`), those of the
question included. What a note takes by meaning is beside what its embedding takes alone.
"""

import gc
import random
import tempfile
import tracemalloc
from pathlib import Path

from benchmarks.harness import Result, paired, seconds
from tickmind.agent.knowledge.memory_files import MemoryFiles
from tickmind.mind.embeddings import word_embeddings
from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.memory.memory import MAX_ENTRIES
from tickmind.mind.memory.vectors import Embed, VectorTable
from tickmind.mind.talk import Talker

ROUNDS = 15
ENTRIES = int(MAX_ENTRIES.maximum)
LIMITS_US = {"note": 3.0, "recall": 200.0, "recall-by-meaning": 400.0, "note-by-meaning": 50.0}
LIMIT_KB, LIMIT_MS = 300.0, 10.0
PEOPLE = [f"person{number}" for number in range(12)]
PLACES = ["the mill", "the wood", "the square", "the market", "the north field"]
THINGS = ["berries", "bread", "wheat", "wood", "coins", "a boat", "the bridge", "the oven", "a story", "the well"]


def sentence(chance: random.Random) -> tuple[str, str, str]:
    """Something that a villager might remember, with its subject and place."""
    who, place, thing = chance.choice(PEOPLE), chance.choice(PLACES), chance.choice(THINGS)
    return f"{who.capitalize()} spoke of {thing} at {place} on day {chance.randrange(99)}.", who, place


def full_memory(embed: Embed | None = None) -> Memory:
    """A memory at its budget."""
    memory, chance = Memory(day_ticks=600, embed=embed), random.Random(7)
    for tick in range(5 * ENTRIES):
        text, who, place = sentence(chance)
        memory.note(tick, text, kind=EntryKind.HEARD, about=who, place=place, told_by=who)
        if len(memory) >= ENTRIES - 1:
            break
    return memory


def acquainted_mind() -> tuple[Memory, Talker]:
    """A memory at its budget, and a talker who has heard forty lines of each of twelve others."""
    memory, chance = full_memory(), random.Random(8)
    talker = Talker("ada", "Ada", random.Random(1), memory)
    for person in PEOPLE:
        for tick in range(40):
            talker.hear(tick, person, f"Have you heard: {sentence(chance)[0]}")
            talker.settle(tick)  # as a villager does in each tick
    memory.recall(9999, "bread")
    return memory, talker


def mind() -> list[Result]:
    """Noting, recalling, keeping and holding a mind of 600 entries, each within its limit."""
    chance = random.Random(8)
    fresh = [sentence(chance) for _ in range(20_000)]
    results = []

    def noted() -> float:
        memory = Memory(day_ticks=600)
        lines = iter(enumerate(chance.sample(fresh, ENTRIES - 50)))

        def note_all() -> None:
            for tick, (text, who, place) in lines:
                memory.note(tick, text, kind=EntryKind.HEARD, about=who, place=place, told_by=who)

        return seconds(note_all) / (ENTRIES - 50) * 1e6

    def recalled(memory: Memory) -> float:
        question = f"What did {chance.choice(PEOPLE)} say about {chance.choice(THINGS)}?"
        memory.recall(9999, question, about=chance.choice(PEOPLE))  # what is new is read in once
        return seconds(lambda: memory.recall(9999, question, about=chance.choice(PEOPLE)), 20) * 1e6

    def noted_by_meaning() -> float:
        memory, texts = Memory(day_ticks=600, embed=embed), chance.sample(fresh, ENTRIES - 50)
        lines = [text for text, _, _ in texts]

        def note_all() -> None:
            for tick, (text, who, place) in enumerate(texts):
                memory.note(tick, text, kind=EntryKind.HEARD, about=who, place=place, told_by=who)
            memory.recall(9999)  # reads all in

        return (seconds(note_all) - seconds(lambda: embed(lines))) / len(lines) * 1e6

    embed = word_embeddings()
    by_words, by_meaning = full_memory(), full_memory(embed)
    figures = {
        "note": [noted() for _ in range(ROUNDS)],
        "recall": [recalled(by_words) for _ in range(ROUNDS)],
        "recall-by-meaning": [recalled(by_meaning) for _ in range(ROUNDS)],
        "note-by-meaning": [noted_by_meaning() for _ in range(ROUNDS)],
    }
    for name, taken in figures.items():
        limit = [LIMITS_US[name]] * ROUNDS
        results.append(paired(f"mind/{name}", taken, limit, unit="us", peer_name="the limit", bar=1.0))
    with tempfile.TemporaryDirectory() as folder:
        files = MemoryFiles(Path(folder), "bench")

        def keep_and_recall() -> None:
            files.keep("ada", "run", 9999, list(by_words))
            Memory(day_ticks=600).restore(files.recall("ada", "run", 9999).entries)

        kept = [seconds(keep_and_recall) * 1e3 for _ in range(ROUNDS)]
    results.append(paired("mind/keep", kept, [LIMIT_MS] * ROUNDS, unit="ms", peer_name="the limit", bar=1.0))
    acquainted_mind()  # for what the minds of a process share
    gc.collect()
    tracemalloc.start()
    memory, _talker = acquainted_mind()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    texts = [entry.text for entry in memory]
    embed(texts)  # for the words that the minds of a process share
    gc.collect()
    words, _ = tracemalloc.get_traced_memory()
    table = VectorTable(embed)
    table.add(texts)
    gc.collect()
    whole = held + tracemalloc.get_traced_memory()[0] - words
    tracemalloc.stop()
    for name, taken_bytes, limit_kb in (("size", held, LIMIT_KB), ("size-by-meaning", whole, LIMIT_KB)):
        size, limit = [taken_bytes / 1e3] * ROUNDS, [limit_kb] * ROUNDS
        results.append(paired(f"mind/{name}", size, limit, unit="kB", peer_name="the limit", bar=1.0))
    return results


BENCHMARKS = (mind,)

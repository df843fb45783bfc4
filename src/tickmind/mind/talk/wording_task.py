"""The question for a line in a model's words, with solved examples.

Code begins the line: it says what is to be told, to the letter, and opens what is added, as in "I saw Bram at the mill,
and I wondered". The model writes the rest. A small model that is asked for a whole line repeats it or loses what it
says: it turns subject and object around, or a person into a place. Left alone with an open end, it contradicts itself.
"""

import re

from tickmind.base import text_sum
from tickmind.strategy.prompts import in_quotes

EXAMPLE_NAMES = ("Tom", "Anna")  # in the examples; a small model may name them
WORDS_TASK = "Write only your own words."
BEGUN = (  # lines that code has begun, and how one might go on; without names, which a small model would repeat
    ("I saw a pedlar at the mill, who looked", "as if he had slept in a flour sack."),
    ("The carter gave me cheese as promised, so I", "hung him a wreath of onions."),
    ("One often sees a heron at the pond, which reminds me of the day when", "it stole my lunch."),
    ("I sold honey at the fair, because", "my bees had worked all summer."),
    ("The mill stands still on Sundays, which is why I", "fetch my oats on Saturday."),
    ("One often sees the shepherd at the barn, and I think", "he likes the smell of hay."),
    ("I met a widow, and we talked about", "her three goats."),
    ("I cut hay at the meadow, and all the while I thought of", "my supper."),
    ("One often finds honey at the barn, so I", "bring a jar along."),
    ("The shepherd met a widow, and I wonder", "whether they spoke of the goats."),
)
# How lines of some forms may go on. What is added is about the speaker, or about what it felt, thought and guessed.
_OPENINGS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(form), tuple(openings.split("; ")))
    for form, openings in (
        (r"One often sees ", "and I think; and I wonder if; which reminds me of the day when; because; and I guess"),
        (r"One often finds ", "so I; and I like; because; and that is where I; and I wonder why"),
        (r"I met ", "and we talked about; and we laughed about; who told me about; and I liked"),
        (r"I saw [A-Z]", "who looked; who seemed; and I wondered; and I thought of; and we talked about"),
        (r"I saw ", "and I wondered; and I thought of; which makes me think of"),
        (r"I gave ", "because; who thanked me with; and I hope; and I was glad that"),
        (r"I feel ", "because; as if I; and I hope; which is why I"),
        (r"I ", "because; and all the while I thought of; and on the way home I; and I was glad"),
        (r".* gave me ", "so I; and I will; and I was glad that"),
        (r".* and I made peace", "and it felt; and I hope; so now we"),
        (
            r"\w+ (?:saw|met|gave|got|bought|sold|picked) ",
            "and I wonder; and I hope; and I ask myself; and I asked myself",
        ),
        (r"", "which is why I; and I learned it from my; and I always; which makes me think of"),
    )
)
_ALL = sorted({one for _, some in _OPENINGS for one in some}, key=len, reverse=True)
_ADDED = re.compile(rf", (?:{'|'.join(_ALL)})\b")
_ADDED_BY_ANYBODY = re.compile(rf", (?:{'|'.join(re.sub(r'I', r'[A-Z][a-z]*', one) for one in _ALL)})\b")  # as retold
_MUSED = re.compile(  # what a speaker added that is no news of others
    r", (?:which reminds me of|which makes me think of|which is why I|and I always|and it felt|and all the while I"
    r"|and on the way home I|and I (?:was glad|wonder(?:ed)?|hope|liked?|thought of|ask(?:ed)? myself"
    r"|learned it from my))\b"
)
_ASKED = re.compile(r'^Finish this: "(.*) \.\.\."$', re.MULTILINE)
_WHOLE = re.compile(r'^(?:Say|Ask) this, and add a few words of your own: "(.*)"$', re.MULTILINE)
_BEGINS_ANEW = re.compile(r"(?!I\b)[A-Z]")
_SENTENCE = re.compile(r"[^.!?]*[.!?]*")


def begun(line: str, salt: str = "") -> str:
    """Return a line that code has begun for a model: what it tells, and the first words of what is added.

    The same `salt` gives the same words. A question, or what has been added to before, is not begun.
    """
    if not line.endswith(".") or _ADDED_BY_ANYBODY.search(line):
        return ""
    openings = next(some for form, some in _OPENINGS if form.match(line))
    return f"{line[:-1]}, {openings[text_sum(f'{salt} {line}') % len(openings)]}"


def words_question(line: str, salt: str = "") -> str:
    """Return the question for a line in a model's words; `WORDS_TASK` comes after it."""
    beginning = begun(line, salt)
    if not beginning:
        return f"{'Ask' if line.endswith('?') else 'Say'} this, and add a few words of your own: {in_quotes(line)}"
    return f"Finish this: {in_quotes(f'{beginning} ...')}"


def line_asked(prompt: str) -> str:
    """Return the line that a prompt asks to word, or nothing if it asks something else."""
    return line_told(beginning) if (beginning := beginning_asked(prompt)) else _in(_WHOLE.search(prompt))


def beginning_asked(prompt: str) -> str:
    """Return the beginning that a prompt asks to finish; nothing if it asks for a whole line, or something else."""
    return _in(_ASKED.search(prompt))


def line_told(line: str) -> str:
    """Return what a line tells, without what was added to it in one of the ways of `begun`."""
    return _before(_ADDED.search(line), line)


def without_musing(line: str) -> str:
    """Return a line without what its speaker felt about it, as far as it was added in one of the ways of `begun`."""
    return _before(_MUSED.search(line), line)


def finished(beginning: str, words: str) -> str:
    """Return the whole line of a model that was to finish a beginning; it may have written all of it."""
    words = words.strip(' "').removeprefix("...").lstrip()
    is_whole = words.startswith(line_told(beginning)[:-1]) or _BEGINS_ANEW.match(words)
    if not beginning or not words or is_whole:
        return words
    rest = (_SENTENCE.match(words) or words)[0].replace('"', "").rstrip()
    again = f"{beginning.rpartition(' ')[2].lower()} "
    rest = rest[len(again) :] if rest.lower().startswith(again) else rest
    return f"{beginning} {rest.rstrip('.?')}{'' if rest.endswith('!') else '.'}"


def _before(added: re.Match[str] | None, line: str) -> str:
    return f"{line[: added.start()]}." if added else line


def _in(found: re.Match[str] | None) -> str:
    return found[1] if found else ""


EXAMPLES = tuple((f"Finish this: {in_quotes(f'{line} ...')}\n\n{WORDS_TASK}", rest) for line, rest in BEGUN)

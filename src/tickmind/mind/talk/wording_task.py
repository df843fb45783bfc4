"""The question for a line in a model's words, with solved examples.

The line is given, and the model adds a few words of its own. A small model that is asked to say the same in other words
repeats the line or loses what it says: it turns subject and object around, or a person into a place.
"""

import re

from tickmind.strategy.prompts import in_quotes

EXAMPLE_NAMES = ("Tom", "Anna")  # in the examples; a small model may name them
WORDS_TASK = "Keep all its words."
WORDED = (  # lines, and how one might say them
    ("I saw Tom at the mill.", "I saw Tom at the mill, white with flour from head to foot."),
    ("Did you sleep well?", "You look tired. Did you sleep well?"),
    ("I gave bread to Anna at the well.", "I gave bread to Anna at the well, and you should have seen her smile."),
    ("Tom saw a fox at the mill.", "Tom saw a fox at the mill, as red as a brick."),
    ("Where have you been?", "I have not seen you all week. Where have you been?"),
    ("I picked berries at the wood.", "I picked berries at the wood until my back hurt."),
    ("The mill stands still on Sundays.", "The mill stands still on Sundays, and one can hear the birds."),
    ("One often sees Anna at the mill.", "One often sees Anna at the mill, with flour in her hair."),
    ("I met Anna.", "At last I met Anna, and we talked for a good while."),
    ("What is Anna going to do?", "One hears this and that. What is Anna going to do?"),
    ("Tom gave me fish as promised.", "Tom gave me fish as promised, he keeps his word."),
    ("Are you well?", "You are so quiet today. Are you well?"),
)


_QUESTION = re.compile(r'^(?:Say|Ask) this, and add a few words of your own: "(.*)"$', re.MULTILINE)


def words_question(line: str) -> str:
    """Return the question for a line in a model's words; `WORDS_TASK` comes after it."""
    verb = "Ask" if line.endswith("?") else "Say"
    return f"{verb} this, and add a few words of your own: {in_quotes(line)}"


def line_asked(prompt: str) -> str:
    """Return the line that a prompt asks to word, or nothing if it asks something else."""
    found = _QUESTION.search(prompt)
    return found[1] if found else ""


EXAMPLES = tuple((f"{words_question(line)}\n\n{WORDS_TASK}", said) for line, said in WORDED)

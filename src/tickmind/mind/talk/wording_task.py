"""The question for a line in a model's words, with solved examples.

The line is given, and the model adds a few words of its own. A small model that is asked to say the same in other words
repeats the line or loses what it says: it turns subject and object around, or a person into a place.
"""

from tickmind.strategy.prompts import in_quotes

EXAMPLE_NAMES = ("Tom", "Anna")  # in the examples; a small model may name them
WORDS_TASK = "Keep all its words."
WORDED = (  # lines, and how one might say them
    ("I saw Tom at the mill.", "I saw Tom at the mill, white with flour from head to foot."),
    ("Did you sleep well?", "You look tired. Did you sleep well?"),
    ("I gave bread to Anna at the well.", "I gave bread to Anna at the well, and you should have seen her smile."),
    ("Tom saw a fox at the mill.", "As true as I stand here, Tom saw a fox at the mill."),
    ("Where have you been?", "I have not seen you all week. Where have you been?"),
    ("I picked berries at the wood.", "I picked berries at the wood until my back hurt."),
    ("The mill stands still on Sundays.", "The mill stands still on Sundays, which suits me well."),
    ("I met Anna.", "At last I met Anna, and we talked for a good while."),
    ("What is Anna going to do?", "One hears this and that. What is Anna going to do?"),
    ("Tom gave me fish as promised.", "Tom gave me fish as promised, he keeps his word."),
    ("Are you well?", "You are so quiet today. Are you well?"),
)


def words_question(line: str) -> str:
    """Return the question for a line in a model's words; `WORDS_TASK` comes after it."""
    verb = "Ask" if line.endswith("?") else "Say"
    return f"{verb} this, and add a few words of your own: {in_quotes(line)}"


EXAMPLES = tuple((f"{words_question(line)}\n\n{WORDS_TASK}", said) for line, said in WORDED)

"""The words of a text that carry its meaning."""

import re

_WORD = re.compile(r"\w+")
_SMALL = frozenset(
    _WORD.findall(
        "a an and are at by did do does for from has have he her his how i in is it me my of on or our she so that the "
        "their them there they this to was we were what when where who whom whose why with you your"
    )
)


_PAST = {  # how entries say what a question asks for
    **dict.fromkeys(("see", "seen"), "saw"),
    **dict.fromkeys(("give", "given"), "gave"),
    **dict.fromkeys(("make", "makes"), "made"),
    **dict.fromkeys(("eat", "eaten"), "ate"),
    **dict.fromkeys(("take", "taken"), "took"),
    "bring": "brought",
    "build": "built",
    "buy": "bought",
    "find": "found",
    "get": "got",
    "hear": "heard",
    "meet": "met",
    "pick": "picked",
    "promise": "promised",
    "say": "said",
    "sell": "sold",
    "tell": "told",
}

VERBS = frozenset((*_PAST, *_PAST.values()))


def has_phrase(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase as whole words, in the same case.

    Names and phrases are many, so no pattern is compiled: `re` keeps 512.

    >>> has_phrase("Tom met Ann-Marie.", "Ann"), has_phrase("Tom met Anna.", "Ann")
    (True, False)
    """
    at = text.find(phrase)
    while at >= 0:
        if not (_is_letter(text[at - 1 : at]) or _is_letter(text[at + len(phrase) : at + len(phrase) + 1])):
            return True
        at = text.find(phrase, at + 1)
    return False


def _is_letter(text: str) -> bool:
    return text.isalnum() or text == "_"


def words_in(text: str) -> list[str]:
    """Return the meaningful words of a text in their order, in lower case."""
    return [word for word in _WORD.findall(text.lower()) if word not in _SMALL]


def words_of(text: str) -> frozenset[str]:
    """Return the meaningful words of a text, each once."""
    return frozenset(words_in(text))


def indexed_words(text: str) -> list[str]:
    """Return the meaningful words of a text by which entries are found, verbs as entries have them, each once.

    >>> indexed_words("Who did you see at the mill? Whom did you give bread?")
    ['saw', 'mill', 'gave', 'bread']
    """
    return list(dict.fromkeys(_PAST.get(word, word) for word in words_in(text)))

"""Show the examples of docstrings as code in the reference: Markdown takes `>>>` for a quotation in a quotation."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^>>>.*\n?)(?:^(?!\s*$).*\n?)*", re.MULTILINE)  # to the next empty line


def fenced(text: str) -> str:
    """Return a docstring whose examples stand in fences of the language `pycon`."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text).rstrip()


class FencedExamples(griffe.Extension):
    """Fences the examples of every object that the reference shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

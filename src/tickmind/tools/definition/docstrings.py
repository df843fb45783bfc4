"""`Docstring`: a function's description and the meanings of its arguments."""

import inspect
import re
from functools import cached_property

# A docstring without any of these is all description, and `griffe` need not be loaded for it.
_SECTION = re.compile(
    r"^[ \t]*(?:(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters|Returns?|Yields?"
    r"|Raises|Warns|Examples?|Notes?|Attributes|See Also)[ \t]*:?[ \t]*|:\w[^:\n]*:.*)$",
    re.MULTILINE,
)
_BLANKS = re.compile(r"\s+")


class Docstring:
    """A docstring in the style of Google, numpy or Sphinx, parsed on first use."""

    def __init__(self, text: str | None) -> None:
        self._text = inspect.cleandoc(text or "")

    @property
    def description(self) -> str:
        """The text before the first section."""
        return self._parts[0]

    @property
    def arguments(self) -> dict[str, str]:
        """The meaning of each argument, by its name."""
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[str, dict[str, str]]:
        if not _SECTION.search(self._text):
            return self._text, {}
        import griffe  # heavy

        intro: list[str] = []
        arguments: dict[str, str] = {}
        style, _ = griffe.infer_docstring_style(griffe.Docstring(self._text))
        in_intro = True
        for section in griffe.parse(griffe.Docstring(self._text), style or griffe.Parser.google, warnings=False):
            if section.kind is griffe.DocstringSectionKind.text:
                intro += [section.value] if in_intro else []
                continue
            in_intro = False
            if section.kind in {griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.other_parameters}:
                for argument in section.value:
                    arguments[argument.name.lstrip("*")] = _BLANKS.sub(" ", argument.description).strip()
        return "\n\n".join(intro).strip(), arguments

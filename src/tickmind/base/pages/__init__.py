"""The look that all pages share: `theme.css` has every colour, font and radius once, for light and for dark.

The viewer and the documentation import the file; a page that is written as one file has `theme()` inside.
"""

from functools import cache
from importlib.resources import files

__all__ = ["theme"]


@cache
def theme() -> str:
    """Return the style sheet of custom properties that all pages begin with."""
    return files("tickmind.base.pages").joinpath("theme.css").read_text(encoding="utf-8")

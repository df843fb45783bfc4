"""The output of a model's answer: the answer alone on stdout, everything else on stderr."""

import json
import re
from typing import Any, Literal, TextIO

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LONGEST_LINE = 300


def harmless(text: str) -> str:
    """Remove terminal control sequences from a text: colours, cursor movements, titles, bells."""
    return _CONTROLS.sub("\ufffd", text.replace("\r", ""))


class Screen:
    """Shows a reply as it arrives. If stderr is a terminal, thinking and fields are shown too, dimmed.

    Output to a terminal is made harmless; a file or a pipe gets the answer unchanged.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._out_is_terminal = out.isatty()
        self._console: Any = None
        if err.isatty():
            from rich.console import Console  # only needed on a terminal

            self._console = Console(file=err, highlight=False, soft_wrap=True)
        self._open: Literal["", "answer", "thought"] = ""  # what was last written to the terminal
        self._answer_ends_line = True

    def content(self, text: str) -> None:
        """Show a piece of the answer."""
        if not text:
            return
        if self._open == "thought":
            self._end_line()
        self._out.write(harmless(text) if self._out_is_terminal else text)
        self._out.flush()
        self._answer_ends_line = text.endswith("\n")
        self._open = "answer" if self._out_is_terminal and not self._answer_ends_line else ""

    def thinking(self, text: str) -> None:
        """Show a piece of the reasoning, on a terminal only."""
        if self._console is None or not text:
            return
        if self._open == "answer":
            self._end_line()
        self._console.print(harmless(text), style="dim", end="", markup=False)
        self._open = "" if text.endswith("\n") else "thought"

    def field(self, name: str, value: Any) -> None:
        """Show a complete field of an object, on a terminal only."""
        if self._console is not None:
            self._end_line()
            shown = f"{name}: {json.dumps(value, ensure_ascii=False)}"
            self._console.print(one_line(harmless(shown)), style="dim", markup=False)

    def note(self, text: str) -> None:
        """Show a line beside the answer: the model, what a tool did, how long it took."""
        self._end_line()
        if self._console is None:
            self._err.write(f"{text}\n")
            self._err.flush()
        else:
            self._console.print(harmless(text), style="cyan", markup=False)

    def end(self) -> None:
        """End the answer."""
        if not self._answer_ends_line:
            self._out.write("\n")
            self._out.flush()
            self._answer_ends_line, self._open = True, ""
        self._end_line()

    def _end_line(self) -> None:
        if self._open and self._console is not None:
            self._err.write("\n")
            self._err.flush()
            self._answer_ends_line = self._answer_ends_line or self._open == "answer"
        self._open = ""


def one_line(text: str) -> str:
    """Return a text in one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."

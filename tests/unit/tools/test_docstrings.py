"""What models are told of a tool comes from its docstring, in any of the usual styles."""

import logging
import subprocess
import sys

import pytest

from tickmind.tools import Tool
from tickmind.tools.definition.docstrings import Docstring

GOOGLE = """Walk somewhere.

    Slowly, and only by day.

    Args:
        place (str): Name of the
            village.
        pace: How fast.
        **more: Anything else.

    Returns:
        Where you are.
    """
NUMPY = """Walk somewhere.

    Slowly, and only by day.

    Parameters
    ----------
    place : str
        Name of the
        village.
    pace : float, optional
        How fast.
    **more
        Anything else.

    Returns
    -------
    str
        Where you are.
    """
SPHINX = """Walk somewhere.

    Slowly, and only by day.

    :param place: Name of the
        village.
    :type place: str
    :param float pace: How fast.
    :param more: Anything else.
    :returns: Where you are.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_all_three_styles_say_the_same(text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        docstring = Docstring(text)
        assert docstring.description == "Walk somewhere.\n\nSlowly, and only by day."
        assert docstring.arguments == {
            "place": "Name of the village.",
            "pace": "How fast.",
            "more": "Anything else.",
        }
    assert caplog.text == ""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_a_tool_tells_models_what_its_docstring_says(text: str) -> None:
    def walk(place: str, pace: float = 1.0) -> str:
        return place

    walk.__doc__ = text
    made = Tool.from_function(walk)
    assert made.description == "Walk somewhere.\n\nSlowly, and only by day."
    assert made.schema["properties"]["place"]["description"] == "Name of the village."
    assert made.schema["properties"]["pace"]["description"] == "How fast."


@pytest.mark.parametrize(
    "text", [None, "", "Look around.", "Look: here.\n\nAnd there.", "Ratio 1:2.\n\n- a: b", "Args: none of them."]
)
def test_a_docstring_without_sections_is_all_description(text: str | None) -> None:
    assert Docstring(text).description == (text or "")
    assert Docstring(text).arguments == {}


def test_griffe_is_loaded_only_when_a_model_is_told_of_a_tool_with_sections() -> None:
    code = f"""
import sys
from tickmind.tools import tool

def walk(place: str) -> str:
    return place

walk.__doc__ = {GOOGLE!r}
made = tool(walk)
assert "griffe" not in sys.modules
assert made.description.startswith("Walk somewhere.")
assert "griffe" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)

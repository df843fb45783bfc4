import struct
import zlib
from xml.etree import ElementTree as ET

import numpy as np

from tickmind.record.pages import charts
from tickmind.record.pages.charts import Series

NASTY = "<script>alert(1)</script>\"'&"


def inside(svg):
    """The chart as a tree, which it must be."""
    return ET.fromstring(f"<body>{svg}</body>")


def test_bands_are_as_high_as_their_values():
    svg = charts.stacked([1, 11], [Series("a", "red", [1, 1]), Series("b", "blue", [3, 3])], label="l", height=100)
    low, high = (shape.attrib["points"].split() for shape in inside(svg).iter("polygon"))
    height_of = [abs(float(points[0].split(",")[1]) - float(points[-1].split(",")[1])) for points in (low, high)]
    assert height_of == [25.0, 75.0]


def test_names_are_text_in_every_chart():
    for svg in (
        charts.stacked([1, 2], [Series(NASTY, "red", [1, 2])], label=NASTY),
        charts.line([1, 2], [Series(NASTY, "red", [1, 2])], label=NASTY),
        charts.bars([(NASTY, 3, 1)], label=NASTY, names=(NASTY, NASTY)),
        charts.shares([(NASTY, 0.5, "red")], label=NASTY),
        charts.spans([(NASTY, [(1, 2, NASTY)])], 1, 9, label=NASTY, colour="red"),
    ):
        assert "<script" not in svg
        assert inside(svg).find(".//*[@aria-label]").attrib["aria-label"] == NASTY


def test_one_point_and_no_point_can_be_drawn():
    assert inside(charts.line([5], [Series("a", "red", [2])], label="l")).find(".//polyline") is not None
    assert "Nothing" in charts.stacked([], [], label="l")
    assert "Nothing" in charts.bars([], label="l", names=("a", "b"))


def test_a_png_has_the_pixels_it_was_given():
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    data = charts.png(pixels)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (3, 2)
    start = data.index(b"IDAT")
    size = struct.unpack(">I", data[start - 4 : start])[0]
    lines = zlib.decompress(data[start + 4 : start + 4 + size])
    assert lines == b"".join(b"\0" + row.tobytes() for row in pixels)


def test_where_nobody_was_and_nobody_can_be_differ():
    counts = np.array([[0, 0], [5, 100]])
    drawn = {
        charts.heat_picture(counts, np.array(open_cells), label="l")
        for open_cells in ([[True, True], [True, True]], [[False, True], [True, True]])
    }
    assert len(drawn) == 2


def test_numbers_are_short_and_readable():
    assert [charts.number(value) for value in (1234567, 3, 12.5, 0.123, 0.00123)] == [
        "1,234,567",
        "3",
        "12.50",
        "0.12",
        "0.0012",
    ]

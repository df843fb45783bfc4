"""All pages take their colours and type from one style sheet."""

import re
from pathlib import Path

import pytest

from tickmind.base.pages import theme
from tickmind.record.pages.html import document

ROOT = Path(__file__).parents[4]
SHEETS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "viewer/src/style.css",
        "viewer/src/lab/lab.css",
        "src/tickmind/gateway/surface/dashboard/dashboard.css",
        "docs/look/docs.css",
    )
} | {"a report": document("", "").partition("<style>")[2].partition("</style>")[0].removeprefix(theme())}
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|lab)\(")
DEFINED = re.compile(r"(--[\w-]+):")
USED = re.compile(r"var\((--[\w-]+)\)")
OF_ONE_ELEMENT = {"--shirt", "--tail", "--stalk"}  # a speech bubble's, set with its place


@pytest.mark.parametrize("name", SHEETS)
def test_no_page_has_a_colour_or_a_font_of_its_own(name):
    assert COLOUR.findall(SHEETS[name]) == []
    assert [family for family in re.findall(r"font-family:([^;}]+)", SHEETS[name]) if "var(" not in family] == []


@pytest.mark.parametrize("name", SHEETS)
def test_what_a_page_uses_is_defined(name):
    known = set(DEFINED.findall(theme())) | set(DEFINED.findall(SHEETS[name])) | OF_ONE_ELEMENT
    assert set(USED.findall(SHEETS[name])) - known == set()


def test_each_colour_is_defined_once_and_used_by_some_page():
    names = DEFINED.findall(theme())
    assert len(names) == len(set(names))
    pages = [*SHEETS.values(), theme()]
    code = [*(ROOT / "viewer" / "src").rglob("*.ts*"), *(ROOT / "src" / "tickmind" / "record").rglob("*.py")]
    text = "".join([*pages, *(file.read_text(encoding="utf-8") for file in code)])
    unused = [name for name in names if name not in text.replace(f"{name}:", "")]
    assert [name for name in unused if not name.startswith("--series-")] == []  # whose numbers are counted


def test_the_documents_and_the_viewer_import_the_file_itself():
    assert (
        ROOT / "docs" / "look" / "theme.css"
    ).resolve() == ROOT / "src" / "tickmind" / "base" / "pages" / "theme.css"
    assert 'import "../../src/tickmind/base/pages/theme.css"' in (ROOT / "viewer" / "src" / "main.tsx").read_text()
    assert "look/theme.css" in (ROOT / "mkdocs.yml").read_text()

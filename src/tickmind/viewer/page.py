"""The built page: its files, and the headers that isolate it."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from tickmind.viewer.errors import PageMissingError

# Scripts and styles only from this server, none inline, and no other site may frame the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page."""

    path: str  # such as /assets/viewer.js
    kind: str
    data: bytes


@cache
def page_files() -> dict[str, PageFile]:
    """Return path -> file, of the whole page; raises `PageMissingError`."""
    folder = files("tickmind.viewer").joinpath("page")
    page = {file.path: file for file in _below(folder, "")} if folder.is_dir() else {}
    if "/index.html" not in page:
        raise PageMissingError("the viewer's page was not built; run `make page` in the sources (it needs Node)")
    return page


def _below(folder: Traversable, path: str) -> list[PageFile]:
    files: list[PageFile] = []
    for item in folder.iterdir():
        name = f"{path}/{item.name}"
        suffix = "." + item.name.rsplit(".", 1)[-1]
        if item.is_dir():
            files += _below(item, name)
        elif suffix in _KINDS:
            files.append(PageFile(name, _KINDS[suffix], item.read_bytes()))
    return files

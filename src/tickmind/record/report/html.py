"""A self-contained page of HTML, and its sections and tables: no script, no font, no network."""

from collections.abc import Iterable
from html import escape
from typing import Final

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE: Final = """
:root{color-scheme:light;font:15px/1.5 system-ui,sans-serif;color:#2b2a27;background:#f6f3ea}
body{max-width:860px;margin:0 auto;padding:32px 20px 80px}
h1{font-size:26px;margin:0 0 2px}
h2{font-size:18px;margin:42px 0 10px;border-bottom:1px solid #ddd7c6;padding-bottom:4px}
h3{font-size:15px;margin:18px 0 4px}p.sub{color:#6a665c;margin:0 0 18px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(120px,1fr));gap:10px}
.cards div{background:#fff;border:1px solid #e4dfd0;border-radius:8px;padding:10px 12px}
.cards b{display:block;font-size:20px;font-variant-numeric:tabular-nums}.cards span{color:#6a665c;font-size:13px}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#5d594f}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:6px 0 0;font-size:13px;color:#5d594f}
.legend i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px}
.moments{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:10px}
.moment{margin:0;font-size:12px;color:#5d594f}.moment svg{border:1px solid #e4dfd0;background:#fff}
.heat{width:100%;max-height:520px;object-fit:contain;image-rendering:pixelated;border:1px solid #e4dfd0}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #e8e3d5;overflow-wrap:anywhere}
th.n,td.n{text-align:right}
details{background:#fff;border:1px solid #e4dfd0;border-radius:8px;margin:8px 0;padding:6px 12px}
summary{cursor:pointer}summary small{color:#6a665c}
.talk{margin:8px 0;padding:0;list-style:none}.talk li{margin:3px 0;overflow-wrap:anywhere;unicode-bidi:isolate}
.talk small{color:#8a8577;margin-right:8px}.none{color:#6a665c}
"""


def document(title: str, body: str) -> str:
    """Return a whole page with a body of HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def section(title: str, body: str) -> str:
    """Return a part of a page under a heading; its body is HTML."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, numbers: int) -> str:
    """Return a table; the last `numbers` columns are numbers."""
    texts = len(names) - numbers

    def cells(tag: str, values: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=n' if place >= texts else ''}>{escape(value)}</{tag}>"
            for place, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', names)}</tr></thead><tbody>{body}</tbody></table>"

"""A self-contained page of HTML, and its sections and tables: no script, no font, no network."""

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from tickmind.base.pages import theme

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE: Final = """
*{box-sizing:border-box}
html{font:var(--size)/1.55 var(--font);color:var(--text);background:var(--page);scroll-behavior:smooth}
body{max-width:980px;margin:0 auto;padding:28px 20px 80px}
a{color:var(--accent);text-underline-offset:2px}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
h1{font-size:28px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:20px;margin:46px 0 12px}h3{font-size:15px;margin:22px 0 6px}
p{margin:0 0 10px}p.sub,.none{color:var(--muted)}p.sub{font-size:14px;overflow-wrap:anywhere}p.after{margin-top:12px}
code,pre{font-family:var(--mono);font-size:13px}code{background:var(--raised);border-radius:5px;padding:1px 5px}
pre{background:var(--panel);border:1px solid var(--line);border-radius:var(--radius);padding:12px;overflow:auto}
pre code{background:none;padding:0}
nav.contents{display:flex;flex-wrap:wrap;gap:4px 16px;margin:0 0 18px;font-size:14px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(118px,1fr));gap:10px;margin:16px 0}
.cards div{background:var(--panel);border:1px solid var(--line);border-radius:var(--radius);padding:10px 12px}
.cards b{display:block;font-size:21px;font-variant-numeric:tabular-nums}.cards span{color:var(--muted);font-size:13px}
svg{display:block}svg text{font:12px var(--font);fill:var(--text)}svg.net{width:100%;max-width:640px;margin:0 auto}
.chart{position:relative;margin:0;border:1px solid var(--line);border-radius:var(--radius-small);overflow:hidden;
background:var(--panel)}.chart svg{width:100%;height:100%}
.chart .most,.chart .least{position:absolute;left:7px;top:3px;font-size:12px;padding:0 4px;border-radius:4px;
background:var(--veil);font-variant-numeric:tabular-nums}.chart .least{top:auto;bottom:3px}
.ends{display:flex;justify-content:space-between;margin:3px 2px 0;font-size:12px;color:var(--muted)}
.plot{margin:14px 0}.plot svg{width:100%}.plot text{fill:var(--muted)}.plot .name{fill:var(--text);font-size:13px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:3px 18px;padding:0;margin:7px 0 14px;font-size:13px;
color:var(--muted)}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}
.bars{list-style:none;padding:0;margin:0;display:grid;gap:5px;font-size:14px}
.bars li{display:grid;grid-template-columns:minmax(70px,24%) 1fr 68px;gap:10px;align-items:center}
.bars .name{text-align:right;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.bars .amount{font-variant-numeric:tabular-nums;color:var(--muted)}.bars .ends{grid-column:2}
.bars .track{position:relative;height:15px}.bars .track.thin{height:12px;background:var(--track);border-radius:3px}
.bars.spans li{grid-template-columns:minmax(70px,24%) 1fr}
.bars i{position:absolute;left:0;top:0;bottom:0;border-radius:3px}
.shares{display:flex;height:10px;border-radius:99px;overflow:hidden;background:var(--track)}.shares i{display:block}
.moments{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:10px}
.moment{margin:0;font-size:12px;color:var(--muted)}
.moment svg{width:100%;border:1px solid var(--line);border-radius:var(--radius-small);background:var(--panel)}
.heat{display:block;max-width:100%;width:100%;max-height:520px;object-fit:contain;image-rendering:pixelated;
border:1px solid var(--line);border-radius:var(--radius-small);background:var(--panel)}
.wide{overflow-x:auto;margin:0 0 12px}table{border-collapse:collapse;width:100%;font-size:14px;
font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:5px 12px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
td{overflow-wrap:anywhere;min-width:7em}td:first-child{overflow-wrap:break-word;min-width:0}th{color:var(--muted);font-weight:500;font-size:13px;white-space:nowrap}
th.n,td.n{text-align:right;min-width:0}td.n{white-space:nowrap}
details{background:var(--panel);border:1px solid var(--line);border-radius:var(--radius);margin:8px 0;padding:7px 13px}
summary{cursor:pointer}summary small{color:var(--muted)}
.talk{margin:8px 0;padding:0;list-style:none}.talk li{margin:3px 0;overflow-wrap:anywhere;unicode-bidi:isolate}
.talk small,.told a.when{color:var(--muted);margin-right:8px}
.told{list-style:none;padding:0;margin:0;display:grid;gap:3px}
.told li{display:grid;grid-template-columns:8.2em 1fr;gap:10px;padding:4px 0;overflow-wrap:anywhere}
.told a.when{font-size:13px;line-height:23px;font-variant-numeric:tabular-nums;white-space:nowrap}
.lead{border-left:4px solid var(--highlight-fill);padding:2px 0 2px 14px}
.ones{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:var(--gap)}
.one{background:var(--panel);border:1px solid var(--line);border-radius:var(--radius);padding:14px 16px}
.one h3{margin:0;font-size:17px;overflow-wrap:anywhere}.one header{display:flex;gap:11px;align-items:center}
.one p{margin:9px 0 6px;font-size:14px}.one .sub{margin:0;font-size:13px}
.one .told{font-size:14px}.one .told li{grid-template-columns:6.6em 1fr;padding:2px 0}
.face{display:grid;place-items:center;flex:none;width:38px;height:38px;border-radius:50%;color:var(--on-face);font-weight:700;
text-shadow:0 1px 2px var(--under-face)}
.both{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:4px 26px}
@media (max-width:560px){body{padding:18px 14px 60px}h1{font-size:23px}.told li,.one .told li{grid-template-columns:1fr;
gap:0}.cards{grid-template-columns:repeat(2,1fr)}}
@media print{body{max-width:none}details{break-inside:avoid}.one{break-inside:avoid}}
"""


def document(title: str, body: str) -> str:
    """Return a whole page with a body of HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{theme()}{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def section(title: str, body: str) -> str:
    """Return a part of a page under a heading; its body is HTML."""
    return f'<section id="{anchor(title)}"><h2>{escape(title)}</h2>{body}</section>'


def contents(titles: Iterable[str]) -> str:
    """Return links to the sections of these titles."""
    links = "".join(f'<a href="#{anchor(title)}">{escape(title)}</a>' for title in titles)
    return f'<nav class="contents" aria-label="On this page">{links}</nav>'


def anchor(title: str) -> str:
    """Return the fragment that names a section.

    >>> anchor("What they did")
    'what-they-did'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"


def table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, numbers: int) -> str:
    """Return a table; the last `numbers` columns are numbers."""
    texts = len(names) - numbers

    def cells(tag: str, values: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=n' if place >= texts else ''}>{escape(value)}</{tag}>"
            for place, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', names)}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'

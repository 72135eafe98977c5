"""HTML of the connect pages: one self-contained layout; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final, NewType

from mcpgen.text.content_policy import permit_inline
from mcpgen.text.invisible import visible

Html = NewType("Html", str)
"""HTML whose texts are escaped."""

MAX_SHOWN: Final = 300  # characters of a text that a document or a user has written

_STYLE: Final = """
:root { color-scheme: light dark; --page: #f4f5f7; --card: #fff; --text: #1b1f24; --soft: #57606a;
  --line: #d8dee4; --accent: #0b5cad; --on-accent: #fff; --danger: #a4262c; --inset: #f6f8fa;
  --edge: #8c959f }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --card: #161b22; --text: #e6edf3;
  --soft: #9da7b1; --line: #30363d; --accent: #6cb6ff; --on-accent: #0d1117; --danger: #ff9a94;
  --inset: #0d1117; --edge: #6e7681 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
  padding: clamp(1rem, 8vh, 6rem) 1rem 2rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { width: 100%; max-width: 30rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 12px; padding: clamp(1.25rem, 5vw, 2rem) }
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.3; text-wrap: balance;
  overflow-wrap: anywhere }
h2 { margin: 0; font-size: 1rem; overflow-wrap: anywhere }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
main > :last-child { margin-bottom: 0 }
.soft { color: var(--soft); font-size: .875rem }
dl { margin: 0 0 1.25rem; padding: .75rem 1rem; background: var(--inset);
  border: 1px solid var(--line); border-radius: 8px }
dt { color: var(--soft); font-size: .8125rem }
dd { margin: 0 0 .625rem; overflow-wrap: anywhere }
dd:last-child { margin: 0 }
ul { margin: 0; padding: 0; list-style: none }
dd li + li { margin-top: .25rem }
code { font: .875em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.accounts { margin: 0 0 1.25rem }
.accounts li { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center;
  justify-content: space-between; padding: .875rem 0; border-top: 1px solid var(--line) }
.accounts li:last-child { border-bottom: 1px solid var(--line) }
.accounts p { margin: 0 }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem }
button, .button { font: inherit; font-weight: 600; min-height: 2.75rem; padding: .5rem 1.125rem;
  border-radius: 8px; border: 1px solid var(--edge); background: none; color: var(--text);
  cursor: pointer; text-decoration: none; display: inline-flex; align-items: center }
.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
.danger { color: var(--danger) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
label { display: block; font-weight: 600; margin-bottom: .375rem }
input { font: inherit; width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border-radius: 8px;
  border: 1px solid var(--edge); background: var(--inset); color: var(--text) }
a { color: var(--accent) }
footer { width: 100%; max-width: 30rem; margin-top: 1rem; padding: 0 .25rem; display: flex;
  flex-wrap: wrap; gap: .25rem .75rem; align-items: center; justify-content: space-between;
  color: var(--soft); font-size: .875rem }
footer p { margin: 0 }
footer button { min-height: 2rem; padding: .125rem .625rem; font-size: .875rem; font-weight: 400 }
""".strip()

STYLE_SOURCE: Final = permit_inline(_STYLE)
"""Source expression for the style sheet in a Content-Security-Policy."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of all pages of a server."""

    service: str  # the name of the API

    def render(self, title: str, content: Html, *, footer: str = "", refresh: str = "") -> bytes:
        """Return a page; with `refresh`, the browser goes to that URL at once."""
        redirect = f'<meta http-equiv="refresh" content="0;url={text(refresh)}">' if refresh else ""
        below = f"<footer>{footer}</footer>" if footer else ""
        page = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">{redirect}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="robots" content="noindex">'
            f"<title>{text(title)} · {text(self.service)}</title><style>{_STYLE}</style></head>"
            f"<body><main><h1>{text(title)}</h1>{content}</main>{below}</body></html>"
        )
        return page.encode()


def text(value: str) -> Html:
    """Escape a text for an element or an attribute."""
    return Html(escape(value, quote=True))


def show(value: str) -> Html:
    """Escape a text of a document or a user: on one line, visible, and not long."""
    line = " ".join(visible(value[: MAX_SHOWN * 4])[0].split())
    return text(line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…")


def paragraph(value: str, *, is_soft: bool = False) -> Html:
    """Return a paragraph of a text."""
    kind = ' class="soft"' if is_soft else ""
    return Html(f"<p{kind}>{text(value)}</p>")


def join(*parts: Html) -> Html:
    """Join parts of HTML."""
    return Html("".join(parts))


def facts(rows: Iterable[tuple[str, Html]]) -> Html:
    """Return a list of names and values."""
    return Html(
        f"<dl>{''.join(f'<dt>{text(name)}</dt><dd>{value}</dd>' for name, value in rows)}</dl>"
    )


def items(values: Iterable[Html], kind: str = "") -> Html:
    """Return a list without bullets."""
    name = f' class="{text(kind)}"' if kind else ""
    return Html(f"<ul{name}>{''.join(f'<li>{value}</li>' for value in values)}</ul>")


def scope_item(name: str, description: str) -> Html:
    """Return a scope, with its description if the document has one."""
    about = f' <span class="soft">{show(description)}</span>' if description.strip() else ""
    return Html(f"<code>{show(name)}</code>{about}")


def form(action: str, hidden: Mapping[str, str], content: Html) -> Html:
    """Return a form that is sent with POST."""
    fields = "".join(
        f'<input type="hidden" name="{text(name)}" value="{text(value)}">'
        for name, value in hidden.items()
    )
    return Html(f'<form method="post" action="{text(action)}">{fields}{content}</form>')


def button(label: str, *, name: str = "", value: str = "", kind: str = "") -> Html:
    """Return a button that sends its form."""
    style = f' class="{text(kind)}"' if kind else ""
    field = f' name="{text(name)}" value="{text(value)}"' if name else ""
    return Html(f"<button{style}{field}>{text(label)}</button>")


def buttons(*content: Html) -> Html:
    """Return a row of buttons."""
    return Html(f'<div class="buttons">{"".join(content)}</div>')


def link(label: str, url: str, kind: str = "") -> Html:
    """Return a link."""
    style = f' class="{text(kind)}"' if kind else ""
    return Html(f'<a{style} href="{text(url)}">{text(label)}</a>')

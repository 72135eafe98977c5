"""The report as one HTML file without scripts and without anything to load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.audit.findings import AuditFinding
from mcpgen.factory.audit.parts import Part
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.audit.tables import Table, list_tables
from mcpgen.factory.html import Html, text
from mcpgen.text.content_policy import permit_inline

_STYLE: Final = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #57606a;
  --line: #d8dee4; --head: #eef1f4; --good: #116329; --warn: #7d4e00; --bad: #a40e26;
  --good-back: #dafbe1; --warn-back: #fff1c7; --bad-back: #ffe2e0; --none-back: #e7ebef }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --card: #161b22; --text: #e6edf3;
  --soft: #9da7b1; --line: #30363d; --head: #1f262e; --good: #7ee2a0; --warn: #f2cc60;
  --bad: #ffa198; --good-back: #12361f; --warn-back: #3a2d07; --bad-back: #4a1718;
  --none-back: #262d35 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; display: flex; gap: .75rem; align-items: center }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
p { margin: .25rem 0 }
.target { overflow-wrap: anywhere }
.soft { color: var(--soft) }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card) }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem;
  border-top: 1px solid var(--line); overflow-wrap: break-word }
thead th { background: var(--head); border-top: 0; font-weight: 600; white-space: nowrap }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td.key { min-width: 9rem; font-weight: 600; overflow-wrap: anywhere }
td.long { min-width: 14rem; overflow-wrap: anywhere }
.grade { display: inline-block; padding: 0 .5rem; border-radius: 6px; font-size: .8rem;
  font-weight: 700; line-height: 1.6; white-space: nowrap; background: var(--none-back) }
.good { color: var(--good); background: var(--good-back) }
.warn { color: var(--warn); background: var(--warn-back) }
.bad { color: var(--bad); background: var(--bad-back) }
article { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem 1rem; margin: .5rem 0 }
article p { overflow-wrap: anywhere }
article .rule { font-weight: 600 }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr);
  gap: .125rem .75rem; margin: .5rem 0 0; font-size: .9rem }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
summary { cursor: pointer; color: var(--soft); margin-top: .5rem; font-size: .9rem }
pre { margin: .25rem 0; padding: .5rem .75rem; background: var(--page); border-radius: 6px;
  border: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere;
  font: .8rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
:focus-visible { outline: 2px solid var(--soft); outline-offset: 2px }
main > p + .scroll { margin-top: 1rem }
@media (max-width: 44rem) {
  .stacked thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px }
  .stacked tr { display: block; padding: .5rem .75rem; border-top: 1px solid var(--line) }
  .stacked tbody tr:first-child { border-top: 0 }
  .stacked td { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .5rem; border: 0;
    padding: .1rem 0; text-align: left }
  .stacked td::before { content: attr(data-head); color: var(--soft); font-weight: 400 }
  .stacked td > .grade { justify-self: start } }
@media print { body { background: #fff } .scroll { overflow: visible } }
""".strip()
_POLICY: Final = f"default-src 'none'; style-src {permit_inline(_STYLE)}; base-uri 'none'"
_KINDS: Final = {"PASS": "good", "WARN": "warn", "FAIL": "bad", "error": "bad", "warning": "warn"}
_NUMBERS: Final = frozenset(
    {"errors", "warnings", "score", "messages", "tokens", "input schema", "output schema"}
)
_LONG: Final = frozenset({"summary", "coverage", "reason", "value", "what is sent"})
_BADGES: Final = frozenset({"grade", "verdict"})
_ARROWS: Final = {"sent": "→", "received": "←"}


def format_html(audit: Audit, parts: Sequence[Part], findings: Sequence[AuditFinding]) -> str:
    """Return the report. Every text is escaped, and the policy of the page allows no script."""
    settings = audit.settings
    tables = list_tables(audit)
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>Audit of {text(audit.target)}</title><style>{_STYLE}</style></head>",
            f'<body><main><h1>Audit</h1><p class="target">{text(audit.target)}</p>',
            f'<p class="soft">Intensity {text(settings.intensity.name)}, seed {settings.seed}</p>',
            _format_summary(parts),
            *(_format_part(part, tables, findings) for part in parts),
            "</main></body></html>\n",
        )
    )


def _format_summary(parts: Sequence[Part]) -> Html:
    heads = ("part", "grade", "errors", "warnings", "summary")
    rows = [(it.title, it.grade, str(it.errors), str(it.warnings), it.summary) for it in parts]
    return _format_table(heads, rows)


def _format_part(part: Part, tables: Sequence[Table], findings: Sequence[AuditFinding]) -> Html:
    own = [it for it in findings if it.part == part.id]
    shown = [Html(f"<h2>{text(part.title)} {_badge(part.grade)}</h2>")]
    shown.append(Html(f'<p class="soft">{text(part.summary)}</p>'))
    tables_of_part = [table for table in tables if table.part == part.id]
    shown += [_format_captioned(it.caption, it.heads, it.rows) for it in tables_of_part[:1]]
    if own:
        shown.append(Html(f"<h3>Findings ({len(own)})</h3>"))
        shown += map(_format_finding, own)
    shown += [_format_captioned(it.caption, it.heads, it.rows) for it in tables_of_part[1:]]
    if part.gaps:
        shown.append(_format_captioned("Not exercised", ("what", "reason"), part.gaps))
    return Html(f"<section>{''.join(shown)}</section>")


def _format_captioned(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    return Html(f"<h3>{text(caption)}</h3>{_format_table(heads, rows)}")


def _format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; one with long texts becomes a list on narrow screens."""
    head = "".join(f'<th scope="col"{_class(name, 1)}>{text(name)}</th>' for name in heads)
    body = "".join(f"<tr>{_format_cells(heads, row)}</tr>" for row in rows)
    kind = ' class="stacked"' if _LONG.intersection(heads) else ""
    table = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return Html(f'<div class="scroll" tabindex="0">{table}</div>')


def _format_cells(heads: Sequence[str], row: Sequence[str]) -> str:
    return "".join(
        f'<td{_class(name, number)} data-head="{text(name)}">{_format_cell(name, value)}</td>'
        for number, (name, value) in enumerate(zip(heads, row, strict=True))
    )


def _class(name: str, number: int) -> str:
    if name in _NUMBERS:
        return ' class="number"'
    if number == 0:
        return ' class="key"'
    return ' class="long"' if name in _LONG else ""


def _format_cell(name: str, value: str) -> Html:
    return _badge(value) if name in _BADGES else text(value)


def _badge(word: str) -> Html:
    kind = _KINDS.get(word, "")
    return Html(f'<span class="grade {kind}">{text(word)}</span>')


def _format_finding(finding: AuditFinding) -> Html:
    where = f"{finding.where}; {finding.source}" if finding.source else finding.where
    waived = str(finding.waived or "")
    facts = (("in", where), ("why", finding.why), ("help", finding.help), ("waived", waived))
    listed = "".join(f"<dt>{name}</dt><dd>{text(value)}</dd>" for name, value in facts if value)
    head = f'{_badge(finding.severity)} <span class="rule">{text(finding.rule)}</span>'
    evidence = _format_evidence(finding.evidence)
    return Html(
        f"<article><p>{head}: {text(finding.message)}</p><dl>{listed}</dl>{evidence}</article>"
    )


def _format_evidence(frames: Sequence[Mapping[str, Any]]) -> Html:
    if not frames:
        return Html("")
    shown = "".join(f"<pre>{_format_frame(frame)}</pre>" for frame in frames)
    return Html(f"<details><summary>Frames ({len(frames)})</summary>{shown}</details>")


def _format_frame(frame: Mapping[str, Any]) -> Html:
    arrow = _ARROWS.get(str(frame.get("direction")), "")
    lines = [f"{arrow} {frame.get('seconds')} s"]
    head = frame.get("http")
    if isinstance(head, Mapping):
        status = head.get("status")
        lines[0] += f"  {head.get('method')} {head.get('url')}" + (f"  {status}" if status else "")
        lines += [f"{name}: {value}" for name, value in head.get("headers", ())]
    lines += str(frame.get("text", "")).split("\n")
    return Html("\n".join(map(text, lines)))

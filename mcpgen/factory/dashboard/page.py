"""The dashboard as one HTML file that loads nothing, and reads without JavaScript."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from mcpgen.factory.dashboard.cells import PageContext, format_moment
from mcpgen.factory.dashboard.data import encode_inline, make_page_data
from mcpgen.factory.dashboard.overview import format_figures, format_queue, format_stages
from mcpgen.factory.dashboard.tables import format_coverage, format_fleet, format_matrix
from mcpgen.factory.html import text
from mcpgen.factory.status.age import parse_time
from mcpgen.factory.status.model import Fleet
from mcpgen.text.content_policy import join_scripts, make_page_policy

MARK: Final = '<meta name="generator" content="mcpgen dashboard">'
"""Part of every dashboard, near its start."""

_SCRIPTS: Final = ("elements", "fleet", "server", "main")  # in this order
# Signs of 16 x 16 that differ in shape, and not in colour alone.
_SPRITE: Final = """
<svg class="sprite" aria-hidden="true">
<symbol id="i-passed" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="currentColor"/>
<path d="M4.6 8.3l2.3 2.3 4.5-4.9" fill="none" stroke="var(--card)" stroke-width="1.8"/></symbol>
<symbol id="i-failed" viewBox="0 0 16 16"><rect x="1" y="1" width="14" height="14" rx="2.5"
fill="currentColor"/><path d="M5 5l6 6M11 5l-6 6" fill="none" stroke="var(--card)"
stroke-width="1.8"/></symbol>
<symbol id="i-stale" viewBox="0 0 16 16"><path d="M8 1.2l7.2 13.3H.8z" fill="currentColor"/>
<path d="M8 5.6v4.3M8 11.4v1.6" fill="none" stroke="var(--card)" stroke-width="1.8"/></symbol>
<symbol id="i-dropped" viewBox="0 0 16 16"><rect x="1" y="1" width="14" height="14" rx="2.5"
fill="currentColor"/><path d="M4.5 8h7" fill="none" stroke="var(--card)"
stroke-width="1.8"/></symbol>
<symbol id="i-unknown" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.2" fill="none"
stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.6 2.2"/></symbol>
</svg>
"""


def make_page(fleet: Fleet, base: str) -> str:
    """Return the dashboard of a fleet, as HTML 5.

    `base` leads from the page to the folder that the paths of servers are relative to; it is ""
    or ends with "/". The policy of the page permits its own script and style sheet by their
    hashes, and no request. Every text is escaped.
    """
    context = PageContext(base, parse_time(fleet.now))
    script, style = _read_assets()
    policy = make_page_policy(script, style)
    title = text(fleet.title)
    made = text(format_moment(context.now))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{MARK}
<meta http-equiv="Content-Security-Policy" content="{text(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title} · MCP servers</title>
<style>{style}</style>
</head>
<body>
{_SPRITE}
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<div><p class="kind">MCP servers</p><h1>{title}</h1></div>
<p class="made">Examined on <time datetime="{text(fleet.now)}">{made}</time>; ages count from
then.</p>
</header>
<nav class="sections" aria-label="Sections"><a href="#attention">Attention</a>
<a href="#servers">Servers</a> <a href="#clients">Clients</a> <a href="#coverage">Coverage</a></nav>
<main id="main" tabindex="-1">
<div id="overview">
<section aria-label="Figures">{format_figures(fleet, context)}{format_stages(fleet)}</section>
<section id="attention" aria-labelledby="h-attention"><h2 id="h-attention">Attention</h2>
<p class="lead">The most urgent first. Commands are to be run in the folder
<code>{text(fleet.root)}</code>.</p>
{format_queue(fleet, context)}</section>
<section id="servers" aria-labelledby="h-servers"><h2 id="h-servers">Servers</h2>
<div id="filters"></div>{format_fleet(fleet, context)}</section>
<section id="clients" aria-labelledby="h-clients"><h2 id="h-clients">Clients</h2>
<p class="lead">What each client does with the tools of each server, by its documented limits.</p>
{format_matrix(fleet, context)}</section>
<section id="coverage" aria-labelledby="h-coverage"><h2 id="h-coverage">Coverage of operations</h2>
<p class="lead">Operations of the documents that have a tool. <em>Excluded</em> is a decision in the
manifest; <em>unmapped</em> operations could not be served.</p>
{format_coverage(fleet, context)}</section>
<noscript><p class="lead">The pages of servers, sorting and search need JavaScript.
<code>mcpgen dashboard --json</code> prints the same data.</p></noscript>
</div>
<div id="server" hidden></div>
</main>
<div id="live" class="hidden" role="status"></div>
<script type="application/json" id="data">{encode_inline(make_page_data(fleet, base))}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _read_assets() -> tuple[str, str]:
    """Return the script and the style sheet."""
    folder = files(__package__) / "assets"
    script = join_scripts((folder / f"{name}.js").read_text("utf-8") for name in _SCRIPTS)
    return script, (folder / "dashboard.css").read_text("utf-8")

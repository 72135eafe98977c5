"""The page of a view: one HTML document that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.text.content_policy import join_scripts, make_page_policy

_SCRIPTS = (
    "values",
    "host",
    "record",
    "table",
    "gallery",
    "chart",
    "form",
    "main",
)  # in this order


def make_page(view: JsonObject, image_origins: Sequence[str] = ()) -> str:
    """Return the page that shows a view, as HTML 5.

    Its policy permits the one script and the one style sheet in it, by their hashes, pictures that
    are `data:` URLs or come from `image_origins`, and nothing else. In the settings of the view
    each "<" is escaped, so that no text can end their element.
    """
    script, style = _read_parts()
    policy = make_page_policy(script, style, image_origins)
    settings = encode_json(view).decode().replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>View</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="view">{settings}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _read_parts() -> tuple[str, str]:
    """Return the script and the style sheet of all pages."""
    folder = files(__package__) / "view"
    script = join_scripts((folder / f"{name}.js").read_text("utf-8") for name in _SCRIPTS)
    return script, (folder / "view.css").read_text("utf-8")

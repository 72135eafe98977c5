"""The script and the Content-Security-Policy of HTML pages that load nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable


def permit_inline(content: str) -> str:
    """Return the source that permits an inline script or style sheet: "'sha256-…'"."""
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def make_page_policy(script: str, style: str, image_origins: Iterable[str] = ()) -> str:
    """Return the policy of a page with one inline script and one inline style sheet.

    It permits these two by their hashes, pictures that are `data:` URLs or come from
    `image_origins`, and nothing else.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {permit_inline(script)}",
            f"style-src {permit_inline(style)}",
            " ".join(("img-src data:", *image_origins)),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def join_scripts(sources: Iterable[str]) -> str:
    """Return one strict script of several, whose names are not visible outside."""
    return '"use strict";\n(() => {\n' + "\n".join(sources) + "})();\n"

"""Where the templates lie: the one place that knows, apart from the engine that reads them."""

from __future__ import annotations

from pathlib import Path


def template_root() -> Path:
    """Give the folder of `code/` and `skeleton/`.

    A wheel carries them as `mcpgen/_templates`; a development install has them beside `mcpgen`.
    """
    package = Path(__file__).resolve().parents[1]
    packed = package / "_templates"
    return packed if packed.is_dir() else package.parent / "templates"

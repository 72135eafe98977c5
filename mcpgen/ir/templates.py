"""The location of the templates, in an installed wheel or in the repository."""

from __future__ import annotations

from pathlib import Path


def template_root() -> Path:
    """Return the folder that contains `code/` and `skeleton/`.

    A wheel has it as `mcpgen/_templates`, a development install beside `mcpgen`.
    """
    package = Path(__file__).resolve().parents[1]
    packed = package / "_templates"
    return packed if packed.is_dir() else package.parent / "templates"

"""The location of the templates, in an installed wheel or in the repository."""

from __future__ import annotations

from pathlib import Path


def template_root() -> Path:
    """Return the folder that contains `code/` and `skeleton/`.

    In a wheel it is `mcpgen/_templates`, in a development install it is beside `mcpgen`.
    """
    package = Path(__file__).resolve().parents[1]
    packed = package / "_templates"
    return packed if packed.is_dir() else package.parent / "templates"

"""The targets by name; each is imported only when it runs."""

from __future__ import annotations

import importlib

from tests.fuzz.cases import Target

_CLASSES = {
    "documents": "Documents",
    "frames": "Frames",
    "functions": "Functions",
    "responses": "Responses",
}
NAMES = tuple(_CLASSES)


def load_target(name: str) -> Target:
    """Import and create a target."""
    module = importlib.import_module(f"tests.fuzz.{name}")
    target: Target = getattr(module, _CLASSES[name])()
    return target

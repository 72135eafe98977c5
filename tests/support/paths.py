"""Folders of this checkout that tests read."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SPECS = REPOSITORY / "specs"
EXAMPLES = REPOSITORY / "generated_examples"
CACHE = REPOSITORY / ".cache"
SHARED = REPOSITORY.parent / "shared"
"""Documents beside the checkout; tests that need a missing one are skipped."""
SHOP = Path(__file__).with_name("shop")
"""The package of a small server, written by hand."""

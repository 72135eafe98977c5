"""Tests of joining several descriptions into one API."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.openapi.lower.join import join_apis


@pytest.mark.parametrize(
    ("titles", "described"),
    [
        (("Ships", "Berths"), "Tools of Ships, Berths."),
        (("Ships", "Ships"), "About Ships."),
        (("Ships", ""), "About Ships."),
    ],
    ids=["two", "of one title", "without a text"],
)
def test_the_description_names_the_apis(make: Any, titles: tuple[str, str], described: str) -> None:
    root = make.document()
    infos = [
        {"title": it or "None", "version": "1", "description": it and f"About {it}."}
        for it in titles
    ]
    joined = join_apis(make({**root, "info": info}).api for info in infos)
    assert joined.description == described

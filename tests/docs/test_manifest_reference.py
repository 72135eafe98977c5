"""docs/manifest.md lists every key of the manifest's JSON Schema."""

from __future__ import annotations

from tests.docs.manifest_reference import PAGE, with_reference


def test_the_reference_is_current() -> None:
    page = PAGE.read_text()
    hint = "run `python -m tests.docs.manifest_reference`"
    assert page == with_reference(page), hint

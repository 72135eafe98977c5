"""Tests of edits of `sources` in mcpgen.yaml: all other bytes stay the same."""

from __future__ import annotations

import pytest
import yaml

from mcpgen.emit.manifest_sources import add_source, remove_source
from mcpgen.emit.manifest_text import ManifestEditError

RAIL = {"document": "rail.yaml", "name": "rail"}

BLOCK = """\
# What this server exposes.
server: {name: "iban"}  # short
sources:
  # The first one.
  - document: "openapi.json"
    overlays:
      - mend.yaml  # repairs

# The rest.
budget: 20000
"""


def test_an_added_entry_follows_the_style_of_the_last_one() -> None:
    assert add_source(BLOCK.encode(), RAIL).decode() == BLOCK.replace(
        "# repairs\n", '# repairs\n  - document: "rail.yaml"\n    name: "rail"\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sources: []\n", "sources: [{document: rail.yaml, name: rail}]\n"),
        (
            "sources: [{document: 'a.yaml'}, ]  # one\n",
            "sources: [{document: 'a.yaml'}, {document: 'rail.yaml', name: 'rail'}, ]  # one\n",
        ),
        (
            "sources:\n- document: a.yaml\nbudget: 1000\n",
            "sources:\n- document: a.yaml\n- document: rail.yaml\n  name: rail\nbudget: 1000\n",
        ),
        (
            "sources:\n  - document: a.yaml",
            "sources:\n  - document: a.yaml\n  - document: rail.yaml\n    name: rail",
        ),
        (
            "sources:\r\n  -\r\n    document: a\r\n",
            "sources:\r\n  -\r\n    document: a\r\n  - document: rail.yaml\r\n    name: rail\r\n",
        ),
        (
            "\ufeffsources:\n  - {document: a.yaml}\n",
            "\ufeffsources:\n  - {document: a.yaml}\n  - document: rail.yaml\n    name: rail\n",
        ),
        (
            '{"sources": [{"document": "a.yaml"}]}\n',
            '{"sources": [{"document": "a.yaml"}, {"document": "rail.yaml", "name": "rail"}]}\n',
        ),
    ],
)
def test_adding_and_removing_an_entry_restores_the_manifest(before: str, after: str) -> None:
    added = add_source(before.encode(), RAIL)
    assert added.decode() == after
    number = len(yaml.safe_load(added)["sources"]) - 1
    assert remove_source(added, number).decode() in (before, f"{before}\n")


def test_the_first_and_the_only_entry_are_removed() -> None:
    two = add_source(BLOCK.encode(), RAIL)
    one = remove_source(two, 0)
    assert b'# The first one.\n  - document: "rail.yaml"' in one
    none = remove_source(one, 0).decode()
    assert none == (
        '# What this server exposes.\nserver: {name: "iban"}  # short\nsources: []\n'
        "  # The first one.\n\n# The rest.\nbudget: 20000\n"
    )


@pytest.mark.parametrize("value", ["a b.yaml", "no", "1.yaml", "it's.yaml", 'a"b.yaml', "ä.yaml"])
def test_values_are_quoted_if_needed(value: str) -> None:
    text = add_source(b"sources:\n  - document: a.yaml\n", {"document": value})
    assert yaml.safe_load(text)["sources"][1] == {"document": value}


@pytest.mark.parametrize(
    "manifest", ["sources: &all\n  - document: a.yaml\n  - *all\n", "a: [", "sources:\n", "x: 1\n"]
)
def test_a_manifest_that_cannot_be_edited_is_rejected(manifest: str) -> None:
    with pytest.raises(ManifestEditError):
        add_source(manifest.encode(), RAIL)

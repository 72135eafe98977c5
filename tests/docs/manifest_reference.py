"""The reference of the keys in docs/manifest.md, made from the JSON Schema of the manifest.

`python -m tests.docs.manifest_reference` writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpgen.ir.manifest import Manifest
from mcpgen.spec.typed_file import json_schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "manifest.md"
HEADING = "## All keys"
_PREFIX = "#/$defs/"


def with_reference(page: str) -> str:
    """Return the page with the reference as its last section."""
    return f"{page.partition(HEADING)[0].rstrip()}\n\n{reference()}"


def reference() -> str:
    """Return a section with a table for each type of the manifest, in the order of first use."""
    definitions: dict[str, Any] = json_schema(Manifest)["$defs"]
    sections = [
        HEADING,
        "An asterisk marks the required keys. Examples are JSON, which YAML reads.",
    ]
    for name in _in_order(definitions):
        title = "The file" if name == "Manifest" else _title(name)
        sections.append(f"### {title}\n\n{definitions[name]['description']}")
        sections.append(_table(definitions[name]))
    return "\n\n".join(sections) + "\n"


def _table(about: dict[str, Any]) -> str:
    rows = ["| key | meaning | examples |", "|---|---|---|"]
    required = about.get("required", ())
    for key, value in about["properties"].items():
        examples = ", ".join(f"`{_cell(json.dumps(it))}`" for it in value["examples"])
        entries = sorted(set(_referred(value)))
        links = "".join(f" See [{_title(it)}](#{_anchor(it)})." for it in entries)
        mark = "\\*" if key in required else ""
        rows.append(f"| `{key}`{mark} | {_cell(value['description'])}{links} | {examples} |")
    return "\n".join(rows)


def _in_order(definitions: dict[str, Any]) -> Iterator[str]:
    """The types, each after the one that first refers to it."""
    waiting, seen = ["Manifest"], {"Manifest"}
    while waiting:
        name = waiting.pop(0)
        yield name
        for value in definitions[name]["properties"].values():
            for other in _referred(value):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


def _referred(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _referred(item)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield reference.removeprefix(_PREFIX)
        for key, value in schema.items():
            if key != "examples":
                yield from _referred(value)


def _title(name: str) -> str:
    words = "".join(f" {each}" if each.isupper() else each for each in name.removesuffix("Entry"))
    return words.strip().capitalize()


def _anchor(name: str) -> str:
    return _title(name).lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text()))

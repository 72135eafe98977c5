"""Tables of the keys of a file that mcpgen reads, from the JSON Schema of its type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from mcpgen.manifest.typed_file import json_schema

_PREFIX = "#/$defs/"


def key_tables(type_: type[Struct], *, level: str = "###") -> str:
    """Return a section with a table for each type of the file, in the order of first use."""
    schema = json_schema(type_)
    definitions: dict[str, Any] = schema["$defs"]
    root = schema["$ref"].removeprefix(_PREFIX)
    sections = ["An asterisk marks the required keys. Examples are JSON, which YAML reads."]
    for name in _names_in_order(definitions, root):
        title = "The file" if name == root else _title(name)
        sections.append(f"{level} {title}\n\n{definitions[name]['description']}")
        sections.append(_table(definitions[name]))
    return "\n\n".join(sections)


def _table(about: dict[str, Any]) -> str:
    has_examples = any("examples" in value for value in about["properties"].values())
    columns = ["key", "meaning", *(["examples"] if has_examples else [])]
    rows = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    required = about.get("required", ())
    for key, value in about["properties"].items():
        entries = sorted(set(_references(value)))
        links = "".join(f" See [{_title(it)}](#{_anchor(it)})." for it in entries)
        mark = "\\*" if key in required else ""
        cells = [f"`{key}`{mark}", f"{_cell(value.get('description', ''))}{links}".strip()]
        if has_examples:
            given = value.get("examples", ())
            cells.append(", ".join(f"`{_cell(json.dumps(it))}`" for it in given))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _names_in_order(definitions: dict[str, Any], root: str) -> Iterator[str]:
    """Return the types, each after the type that refers to it first."""
    waiting, seen = [root], {root}
    while waiting:
        name = waiting.pop(0)
        yield name
        for value in definitions[name]["properties"].values():
            for other in _references(value):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield reference.removeprefix(_PREFIX)
        for key, value in schema.items():
            if key not in {"examples", "default"}:
                yield from _references(value)


def _title(name: str) -> str:
    words = "".join(f" {each}" if each.isupper() else each for each in name.removesuffix("Entry"))
    return words.strip().capitalize()


def _anchor(name: str) -> str:
    return _title(name).lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

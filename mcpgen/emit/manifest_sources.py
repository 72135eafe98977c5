"""Edits of the list `sources` in the text of a manifest; every other character stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from mcpgen.emit.manifest_text import ManifestEditError, ManifestText
from mcpgen.ir.yaml_nodes import find_node_end
from mcpgen.jsonschema.types import JsonValue


def add_source(manifest: bytes, source: Mapping[str, JsonValue]) -> bytes:
    """Return the manifest with `source` at the end of `sources`, in the style of the others.

    Raises:
        ManifestEditError: the text cannot be edited.
    """
    text = _Text(manifest)
    entries = text.sources.value
    if text.sources.flow_style:
        pairs = ", ".join(
            f"{text.quote_key(key)}: {text.spell(value)}" for key, value in source.items()
        )
        at = entries[-1].end_mark.index if entries else text.sources.start_mark.index + 1
        text.replace(at, at, f"{', ' if entries else ''}{{{pairs}}}")
    else:
        indent = " " * text.sources.start_mark.column
        lines = [f"{text.quote_key(key)}: {text.spell(value)}" for key, value in source.items()]
        block = f"{indent}- {lines[0]}" + "".join(f"\n{indent}  {line}" for line in lines[1:])
        text.insert_line(text.line_end(find_node_end(entries[-1])), block)
    expected = text.value
    expected["sources"] = [*expected["sources"], dict(source)]
    return text.finish(expected)


def remove_source(manifest: bytes, number: int) -> bytes:
    """Return the manifest without the entry of `sources` at this index.

    Raises:
        ManifestEditError: the text cannot be edited.
    """
    text = _Text(manifest)
    entries = text.sources.value
    entry = entries[number]
    start, end = entry.start_mark.index, find_node_end(entry)
    if text.sources.flow_style:
        if number + 1 < len(entries):
            end = entries[number + 1].start_mark.index
        elif number:
            start = find_node_end(entries[number - 1])
        text.replace(start, end, "")
    else:
        text.replace(text.dash_line(start), text.line_end(end), "")
        if len(entries) == 1:
            colon = text.text.index(":", text.key.end_mark.index) + 1
            text.replace(colon, colon, " []")
    expected = text.value
    del expected["sources"][number]
    return text.finish(expected)


class _Text(ManifestText):
    """A manifest as text, with the place of its list of sources."""

    def __init__(self, manifest: bytes) -> None:
        super().__init__(manifest)
        found = [pair for pair in self.root.value if pair[0].value == "sources"]
        if not found or not isinstance(found[0][1], yaml.SequenceNode):
            raise ManifestEditError
        self.key, self.sources = found[0]
        if not all(isinstance(entry, yaml.MappingNode) for entry in self.sources.value):
            raise ManifestEditError

    def spell(self, value: JsonValue) -> str:
        """Return a value as YAML on one line."""
        if isinstance(value, str):
            return self.quote(value)
        return yaml.dump(
            value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
        ).strip()

    def quote(self, text: str) -> str:
        """Quote a value in the style of the last source's document, if there is one."""
        style = self._scalar_style(1)
        is_plain = re.fullmatch(r"[A-Za-z][\w./-]*", text) and yaml.safe_load(text) == text
        if style == "'" and "'" not in text:
            return f"'{text}'"
        return (
            text
            if is_plain and style != '"'
            else yaml.dump(text, default_style='"', allow_unicode=True, width=10_000).strip()
        )

    def quote_key(self, key: str) -> str:
        """Quote a key in the style of the last source's first key."""
        return f'"{key}"' if self._scalar_style(0) == '"' else key

    def _scalar_style(self, of_pair: int) -> str | None:
        for entry in reversed(self.sources.value):
            for pair in entry.value:
                if pair[0].value == "document":
                    style: str | None = pair[of_pair].style
                    return style
        return None

    def dash_line(self, at: int) -> int:
        """Return the start of the line with the dash of the list entry at this index."""
        before = self.text[:at].rstrip()
        if not before.endswith("-"):
            raise ManifestEditError
        return before.rfind("\n") + 1

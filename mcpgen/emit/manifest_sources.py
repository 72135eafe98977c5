"""Edit the list `sources` in the text of a manifest; every other character stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from mcpgen.jsonschema.types import JsonValue

_BOM = "\ufeff"


class ManifestEditError(Exception):
    """The list `sources` is written in a way that cannot be edited as text."""


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
        text.insert_line(text.line_end(_end(entries[-1])), block)
    wanted = text.value
    wanted["sources"] = [*wanted["sources"], dict(source)]
    return text.finish(wanted)


def remove_source(manifest: bytes, number: int) -> bytes:
    """Return the manifest without the entry of `sources` at this index.

    Raises:
        ManifestEditError: the text cannot be edited.
    """
    text = _Text(manifest)
    entries = text.sources.value
    entry = entries[number]
    start, end = entry.start_mark.index, _end(entry)
    if text.sources.flow_style:
        if number + 1 < len(entries):
            end = entries[number + 1].start_mark.index
        elif number:
            start = _end(entries[number - 1])
        text.replace(start, end, "")
    else:
        text.replace(text.dash_line(start), text.line_end(end), "")
        if len(entries) == 1:
            colon = text.text.index(":", text.key.end_mark.index) + 1
            text.replace(colon, colon, " []")
    wanted = text.value
    del wanted["sources"][number]
    return text.finish(wanted)


class _Text:
    """A manifest as text, with the place of its list of sources."""

    def __init__(self, manifest: bytes) -> None:
        text = manifest.decode()
        self._start = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        try:
            root = yaml.compose(self.text, Loader=yaml.SafeLoader)
            self.value: dict[str, Any] = yaml.safe_load(self.text)
        except yaml.YAMLError as error:
            raise ManifestEditError from error
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        found = [pair for pair in pairs if pair[0].value == "sources"]
        if not found or not isinstance(found[0][1], yaml.SequenceNode):
            raise ManifestEditError
        self.key, self.sources = found[0]
        if not all(isinstance(entry, yaml.MappingNode) for entry in self.sources.value):
            raise ManifestEditError

    def spell(self, value: JsonValue) -> str:
        """Spell a value on one line."""
        if isinstance(value, str):
            return self.quote(value)
        return yaml.dump(
            value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
        ).strip()

    def quote(self, text: str) -> str:
        """Quote a value as the last source has its document, if it has one."""
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
        """Quote a key as the last source has its first one."""
        return f'"{key}"' if self._scalar_style(0) == '"' else key

    def _scalar_style(self, of_pair: int) -> str | None:
        for entry in reversed(self.sources.value):
            for pair in entry.value:
                if pair[0].value == "document":
                    style: str | None = pair[of_pair].style
                    return style
        return None

    def line_end(self, at: int) -> int:
        """Return where the line after the one at this index begins, or the text ends."""
        if at and self.text[at - 1] == "\n":  # of a block scalar, which ends with its line
            return at
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def dash_line(self, at: int) -> int:
        """Return where the line begins that has the dash of the list entry at this index."""
        before = self.text[:at].rstrip()
        if not before.endswith("-"):
            raise ManifestEditError
        return before.rfind("\n") + 1

    def insert_line(self, at: int, line: str) -> None:
        """Insert whole lines."""
        line = line.replace("\n", self._newline)
        is_open = at == len(self.text) and not self.text.endswith("\n")
        text = f"{self._newline}{line}" if is_open else f"{line}{self._newline}"
        self.replace(at, at, text)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a part of the text."""
        self.text = self.text[:start] + text + self.text[end:]

    def finish(self, wanted: dict[str, Any]) -> bytes:
        """Return the edited manifest, after a check that it says what it should."""
        try:
            is_right = yaml.safe_load(self.text) == wanted
        except yaml.YAMLError as error:
            raise ManifestEditError from error
        if not is_right:
            raise ManifestEditError
        return (self._start + self.text).encode()


def _end(node: yaml.Node) -> int:
    """Return where the text of a node ends, without what follows on its last line."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end

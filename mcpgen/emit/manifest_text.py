"""Edits of the text of a manifest: everything outside the edited values stays as it is."""

from __future__ import annotations

from typing import Any

import yaml

from mcpgen.ir.yaml_nodes import find_line_end
from mcpgen.jsonschema.types import JsonValue

_BOM = "\ufeff"


class ManifestEditError(Exception):
    """The manifest is written in a way that cannot be edited as text."""


class ManifestText:
    """A manifest as text, and its value."""

    def __init__(self, manifest: bytes) -> None:
        text = manifest.decode()
        self._start = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self.root = self.compose()
        self.value: dict[str, Any] = yaml.safe_load(self.text)

    def compose(self) -> yaml.MappingNode:
        """Return the nodes of the current text.

        Raises:
            ManifestEditError: it is not a mapping.
        """
        try:
            root = yaml.compose(self.text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise ManifestEditError from error
        if not isinstance(root, yaml.MappingNode):
            raise ManifestEditError
        return root

    @staticmethod
    def spell_on_one_line(value: JsonValue) -> str:
        """Return a value as YAML on one line."""
        if isinstance(value, str):
            style = None if value and yaml.safe_load(value) == value else '"'
            text = yaml.dump(value, default_style=style, allow_unicode=True, width=10_000)
        else:
            text = yaml.dump(
                value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
            )
        return text.removesuffix("\n...\n").strip()

    def line_end(self, at: int) -> int:
        """Return the index of the line after the one at this index, or the end of the text."""
        return find_line_end(self.text, at)

    def insert_line(self, at: int, line: str) -> None:
        """Insert whole lines."""
        line = line.replace("\n", self._newline)
        is_open = at == len(self.text) and bool(self.text) and not self.text.endswith("\n")
        text = f"{self._newline}{line}" if is_open else f"{line}{self._newline}"
        self.replace(at, at, text)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a part of the text."""
        self.text = self.text[:start] + text + self.text[end:]

    def finish(self, expected: dict[str, Any]) -> bytes:
        """Return the edited manifest, after a check that it has the expected value."""
        try:
            is_right = yaml.safe_load(self.text) == expected
        except yaml.YAMLError as error:
            raise ManifestEditError from error
        if not is_right:
            raise ManifestEditError
        return (self._start + self.text).encode()

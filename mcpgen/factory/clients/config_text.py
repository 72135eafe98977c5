"""Entries of servers in the bytes of a client's configuration file."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy
from typing import Final

from mcpgen.factory.clients import json_text, toml_text, yaml_text
from mcpgen.factory.clients.registry import Format
from mcpgen.factory.clients.texts import (
    ConfigSyntaxError,
    Edited,
    Traces,
    UneditableError,
    find_value,
)
from mcpgen.jsonschema.types import JsonObject, JsonValue

_BOM: Final = "\ufeff"
_READERS: Final = {
    "json": json_text.read_json,
    "toml": toml_text.read_toml,
    "yaml": yaml_text.read_yaml,
}


class ConfigText:
    """The text of a configuration file, and the place of its servers.

    `keys` lead to the object that contains the servers, or to the list of them with `is_list`.
    """

    def __init__(
        self, content: bytes, format: Format, keys: tuple[str, ...], *, is_list: bool = False
    ) -> None:
        """Parse a configuration.

        Raises:
            ConfigSyntaxError: it is not UTF-8, or malformed.
        """
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise ConfigSyntaxError("the file is not UTF-8") from None
        self._mark = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self.format = format
        self.keys = keys
        self.is_list = is_list
        self.value: JsonValue = _READERS[format](self.text)

    @property
    def content(self) -> bytes:
        """The text as bytes."""
        return (self._mark + self.text).encode()

    def read_servers(self) -> dict[str, JsonValue]:
        """Return the entries by name; {} if there are none."""
        found = find_value(self.value, self.keys)
        if self.is_list:
            entries = found if isinstance(found, list) else []
            return {_get_name(each): each for each in entries if isinstance(each, dict)}
        return dict(found) if isinstance(found, dict) else {}

    def insert(self, name: str, entry: JsonObject, traces: Traces) -> str:
        """Add an entry and return its text, "" if it was inserted in several places.

        Raises:
            UneditableError: the text cannot be edited.
        """
        match self.format:
            case "json":
                edited = json_text.insert_in_json(self.text, self.keys, name, entry)
            case "toml":
                edited = toml_text.insert_in_toml(self.text, self.keys, name, entry)
            case "yaml":
                edited = yaml_text.insert_in_yaml(
                    self.text, self.keys[0], name, entry, in_list=self.is_list
                )
        self._accept(edited.text, name)
        if self.read_servers().get(name) != self._name(name, entry):
            raise UneditableError(f"`{'.'.join(self.keys)}` cannot be edited")
        _trace(edited, traces)
        return edited.inserted

    def remove(self, name: str, inserted: str, traces: Traces, *, is_last: bool) -> None:
        """Remove an entry; `inserted` is the result of `insert`, if it is known.

        `is_last`: no other inserted entry is left, so that all traces are removed.

        Raises:
            UneditableError: there is no such entry, or it cannot be removed alone.
        """
        text = self._remove(name, inserted, traces)
        if is_last:
            text = text.removesuffix(traces.gap)
        self._accept(text, name)
        if name in self.read_servers():
            raise UneditableError(f"`{name}` cannot be removed alone")

    def add_input(self, key: str, item: JsonObject, traces: Traces) -> None:
        """Add a question to the list `key` of the root, unless one has the same id.

        Raises:
            UneditableError: `key` is not a list.
        """
        inputs = find_value(self.value, (key,))
        known = inputs if isinstance(inputs, list) else []
        if not any(isinstance(each, dict) and each.get("id") == item["id"] for each in known):
            self.text = json_text.append_to_json(self.text, key, item, traces)
            self.value = json_text.read_json(self.text)

    def remove_inputs(self, key: str, ids: Collection[str], traces: Traces) -> None:
        """Remove the questions with these ids from the list `key` of the root."""
        if ids:
            self.text = json_text.remove_items_from_json(self.text, key, ids, traces)
            self.value = json_text.read_json(self.text)

    def _remove(self, name: str, inserted: str, traces: Traces) -> str:
        match self.format:
            case "json":
                return json_text.remove_from_json(self.text, self.keys, name, traces)
            case "toml":
                if inserted and self.text.count(inserted) == 1:
                    return self.text.replace(inserted, "")
                return toml_text.remove_from_toml(self.text, self.keys, name, inserted)
            case "yaml":
                return yaml_text.remove_from_yaml(
                    self.text, self.keys[0], name, traces, in_list=self.is_list
                )

    def _accept(self, text: str, name: str) -> None:
        """Accept an edited text, if it differs in the entry `name` alone."""
        value = _READERS[self.format](text)
        if self._without(value, name) != self._without(self.value, name):
            raise UneditableError(f"`{'.'.join(self.keys)}` cannot be edited alone")
        self.value, self.text = value, text

    def _without(self, value: JsonValue, name: str) -> JsonValue:
        """Return a configuration without an entry, and without containers that it leaves empty."""
        copy = deepcopy(value)
        outer = find_value(copy, self.keys)
        if isinstance(outer, list):
            outer[:] = [it for it in outer if not (isinstance(it, dict) and _get_name(it) == name)]
        elif isinstance(outer, dict):
            outer.pop(name, None)
        for depth in range(len(self.keys) - 1, -1, -1):
            holder, key = find_value(copy, self.keys[:depth]), self.keys[depth]
            if isinstance(holder, dict) and not holder.get(key):
                holder.pop(key, None)
        return copy

    def _name(self, name: str, entry: JsonObject) -> JsonObject:
        return {yaml_text.NAME_KEY: name, **entry} if self.is_list else entry


def _get_name(entry: JsonObject) -> str:
    return str(entry.get(yaml_text.NAME_KEY))


def _trace(edited: Edited, traces: Traces) -> None:
    traces.created += [each for each in edited.created if each not in traces.created]
    for keys, inner in edited.inner.items():
        traces.inner.setdefault(keys, inner)
    traces.gap = traces.gap or edited.gap

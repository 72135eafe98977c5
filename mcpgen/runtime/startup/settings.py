"""Typed settings for parameters and headers, read from the environment and validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpgen.absent import ABSENT
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.handlers.annotations import parse_text_value
from mcpgen.runtime.startup.values import TEXT, read_variable


class Settings:
    """Values of the settings that a server's contract declares with a schema."""

    def __init__(self, contract: JsonObject, environ: Mapping[str, str]) -> None:
        """Read all settings.

        Raises:
            ConfigurationError: a value violates its schema.
        """
        entries = [entry for entry in contract.get("environment", ()) if "schema" in entry]
        self._values = {entry["name"]: read_setting(entry, environ) for entry in entries}
        texts = (read_variable(environ, entry["name"]) for entry in entries if entry.get("secret"))
        self.secrets = tuple(filter(None, texts))
        """Values that must never be shown."""
        self.secret_names = frozenset(
            entry["name"]
            for entry in entries
            if entry.get("secret") and self._values[entry["name"]] is not ABSENT
        )
        """Names of the settings with these values."""

    def get(self, name: str) -> Any:
        """Return the value of a setting; ABSENT if the environment has none.

        Raises:
            ConfigurationError: the contract has no such setting.
        """
        if name not in self._values:
            raise ConfigurationError(f"unknown setting `{name}`: the contract does not declare it")
        return self._values[name]


def read_setting(entry: JsonObject, environ: Mapping[str, str]) -> Any:
    """Return the typed value of one setting; ABSENT if the environment has none.

    Raises:
        ConfigurationError: the value violates the setting's schema. The message contains the
            variable and the rule, but not the value.
    """
    name, schema = entry["name"], entry["schema"]
    text = read_variable(environ, name, allowed=TEXT)
    if not text:
        return ABSENT
    value = parse_text_value(text, entry.get("reads_as", {}))
    if schema in (True, {}):
        return value
    from mcpgen.jsonschema.validation import SchemaValidator  # only if there is a value to check

    if rules := SchemaValidator(schema).broken_rules(value):
        raise ConfigurationError(f"invalid {name}: it {'; it '.join(rules)}", setting=name)
    return value

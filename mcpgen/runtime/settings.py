"""Settings whose values requests carry, read from the environment and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpgen.runtime.absent import ABSENT
from mcpgen.runtime.auth.values import TEXT, setting
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.text_values import value_of_text


class Settings:
    """The values of the settings that a server's contract declares with a schema."""

    def __init__(self, contract: JsonObject, environ: Mapping[str, str]) -> None:
        """Read all of them.

        Raises:
            ConfigurationError: a value does not fit its schema.
        """
        entries = [entry for entry in contract.get("environment", ()) if "schema" in entry]
        self._values = {entry["name"]: read_setting(entry, environ) for entry in entries}
        texts = (setting(environ, entry["name"]) for entry in entries if entry.get("secret"))
        self.secrets = tuple(filter(None, texts))
        """What must never be shown."""

    def value(self, name: str) -> Any:
        """Return the value of a setting; ABSENT if the environment has none.

        Raises:
            ConfigurationError: the contract has no such setting.
        """
        if name not in self._values:
            raise ConfigurationError(f"a handler reads `{name}`, which the contract does not have")
        return self._values[name]


def read_setting(entry: JsonObject, environ: Mapping[str, str]) -> Any:
    """Return the value of one setting of a contract, typed; ABSENT if the environment has none.

    Raises:
        ConfigurationError: the value does not fit the setting's schema. The message names the
            variable and the rule, and does not show the value.
    """
    name, schema = entry["name"], entry["schema"]
    text = setting(environ, name, allowed=TEXT)
    if not text:
        return ABSENT
    value = value_of_text(text, entry.get("reads_as", {}))
    if schema in (True, {}):
        return value
    from mcpgen.runtime.validation import SchemaValidator  # only if there is a value to check

    if rules := SchemaValidator(schema).broken_rules(value):
        raise ConfigurationError(f"invalid {name}: it {'; it '.join(rules)}", setting=name)
    return value

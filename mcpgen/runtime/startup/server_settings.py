"""Values of the settings that every server has, read from the environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcpgen.contract.server_settings import BY_NAME, SERVER_SETTINGS, list_applicable
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.secret_files import SUFFIX, read_secret

if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject


class ServerSettings:
    """The settings of `mcpgen.contract.server_settings`, parsed when they are read."""

    def __init__(
        self,
        prefix: str,
        environ: Mapping[str, str],
        defaults: Mapping[str, Any] | None = None,
        *,
        shadowed: Collection[str] = (),
    ) -> None:
        """Read the settings of the server with this prefix.

        `defaults` are by setting name. Variables in `shadowed` are ignored: they are
        credentials or parameters of the server (`list_shadowed`).
        """
        self._prefix = prefix
        self._environ = environ
        self._defaults = defaults or {}
        self._shadowed = shadowed

    @classmethod
    def from_contract(cls, contract: JsonObject, environ: Mapping[str, str]) -> ServerSettings:
        """Read the settings of the server with this contract, whose `limits` are defaults."""
        limits = contract.get("limits", {})
        return cls(
            contract.get("env_prefix", ""),
            environ,
            {name.upper(): value for name, value in limits.items()},
            shadowed=list_shadowed(contract),
        )

    def spell(self, name: str) -> str:
        """Return the environment variable of a setting."""
        return self._prefix + name

    def is_set(self, name: str) -> bool:
        """Return whether the environment has a value."""
        return bool(self._read(name).strip())

    def get(self, name: str) -> Any:
        """Return the value of a setting, else its default; None if it has neither.

        Raises:
            ConfigurationError: the value is invalid. The message does not contain it.
        """
        setting = BY_NAME[name]
        text = self._read(name).strip()
        if not text:
            if name in self._defaults:
                return self._defaults[name]
            return setting.parse(setting.default) if setting.default else None
        try:
            return setting.parse(text)
        except ValueError as error:
            raise ConfigurationError(
                f"invalid {self._prefix}{name}: {error}", setting=self._prefix + name
            ) from None

    def find_invalid(self) -> list[ConfigurationError]:
        """Return an error for each setting with an invalid value."""
        errors = []
        for setting in SERVER_SETTINGS:
            try:
                self.get(setting.name)
            except ConfigurationError as error:
                errors.append(error)
        return errors

    def list_secrets(self) -> tuple[str, ...]:
        """Return the texts to mask: the values of secret settings, and the passwords in URLs."""
        from urllib.parse import unquote, urlsplit

        found: list[str] = []
        for setting in SERVER_SETTINGS:
            value = self._read(setting.name).strip() if setting.secret else ""
            if not value:
                continue
            found += [value, *filter(None, map(str.strip, value.split(",")))]
            try:
                password = urlsplit(value if "://" in value else f"//{value}").password or ""
            except ValueError:
                continue
            found += filter(None, (password, unquote(password)))
        return tuple(dict.fromkeys(found))

    def _read(self, name: str) -> str:
        variable = self._prefix + name
        if not self._prefix or variable in self._shadowed:
            return ""
        if BY_NAME[name].secret:
            return read_secret(variable, self._environ)
        return self._environ.get(variable, "")


def list_shadowed(contract: JsonObject) -> frozenset[str]:
    """Return the variables of the contract that are not settings of the runtime.

    A credential or a parameter may have the name of a setting that a later release added.
    """
    prefix = contract.get("env_prefix", "")
    own = {prefix + setting.name for setting in SERVER_SETTINGS if setting.in_contract}
    return frozenset(
        entry["name"]
        for entry in contract.get("environment", ())
        if entry.get("scheme") or "schema" in entry or entry["name"] not in own
    )


def find_misspelt(contract: JsonObject, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each variable that looks like a misspelt setting of this server."""
    prefix = contract.get("env_prefix", "")
    settings = contract.get("environment", ())
    declared = {setting["name"] for setting in settings}
    known = declared | {prefix + row.name for row in list_applicable(prefix, declared)}
    secrets = [setting["name"] for setting in settings if setting.get("secret")]
    secrets += [prefix + row.name for row in SERVER_SETTINGS if row.secret]
    known |= {name + SUFFIX for name in secrets}
    valid = known | {prefix + row.name for row in SERVER_SETTINGS}  # of other servers: harmless
    unknown = [name for name in environ if name.startswith(prefix) and name not in valid]
    for name in sorted(unknown)[:_MAX_WARNINGS]:
        from difflib import get_close_matches  # only where there is one

        written, names = name.removeprefix(prefix), _without(prefix, known)
        near = get_close_matches(written, names, 1, 0.75)
        near = near or [it for it in names if it.startswith(f"{written}_")]
        if near:
            yield f"unknown setting {name}: did you mean {prefix}{near[0]}?"


_MAX_WARNINGS = 20


def _without(prefix: str, names: Collection[str]) -> list[str]:
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))

"""Values of credential settings: which characters each may have where it is sent.

Reads the environment for the security schemes and for the check at start-up, which imports this
module and must not pay for the schemes themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mcpgen.contract.http_names import find_scheme_fault
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.text.flags import is_true

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject

_VISIBLE = re.compile(r"[\x20-\x7e]*\Z")
TOKEN = re.compile(r"[\x21-\x7e]*\Z")
_COOKIE_VALUE = re.compile(r"[\x21-\x2b\x2d-\x3a\x3c-\x7e]*\Z")
TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*\Z")  # surrogates: bytes that are not UTF-8


def is_set(variable: str, part: str, environ: Mapping[str, str]) -> bool:
    """Return whether the environment has a value for a setting.

    An empty password is a password: some APIs take a key as the user name (RFC 7617). A switch that
    is off counts as not set.
    """
    if part == "switch":
        return is_true(environ.get(variable, ""))
    return variable in environ if part == "password" else bool(environ.get(variable, "").strip())


def read_variable(
    environ: Mapping[str, str], variable: str, *, allowed: re.Pattern[str] = _VISIBLE
) -> str:
    """Read an environment variable, without white space around it; "" if it is not set.

    Raises:
        ConfigurationError: it has characters that cannot be sent; names the variable only.
    """
    value = environ.get(variable, "").strip()
    if not allowed.match(value):
        raise ConfigurationError(
            f"{variable} has a character that cannot be sent: a line break, a control, bytes that"
            " are not UTF-8 or, where these separate things, a space or a semicolon",
            setting=variable,
        )
    return value


def read_value(
    description: JsonObject, part: str, variable: str, environ: Mapping[str, str]
) -> str:
    """Read one part of a security scheme, without white space around it; "" if it is not set.

    `description` is the scheme's entry in the contract.

    Raises:
        ConfigurationError: the value cannot be sent, or not under the name that the contract has
            for it; names the variable only.
    """
    fault = find_scheme_fault(
        description["type"],
        location=description.get("in", ""),
        name=description.get("name", ""),
        http_scheme=description.get("scheme", ""),
    )
    if fault:
        raise ConfigurationError(
            f"{variable} cannot be sent: the security scheme is invalid, since {fault}",
            setting=variable,
        )
    value = read_variable(environ, variable, allowed=select_pattern(description, part))
    if part == "username" and ":" in value:
        raise ConfigurationError(f"{variable} must not have a colon (RFC 7617)", setting=variable)
    return value


def select_pattern(description: JsonObject, part: str) -> re.Pattern[str]:
    """Return the pattern of values that can be sent as one part of a security scheme."""
    kind = description["type"]
    if kind in ("oauth2", "openIdConnect"):
        return TOKEN
    if part != "value":  # a user name, a password, a path
        return TEXT
    if kind == "apiKey":
        return _COOKIE_VALUE if description.get("in") == "cookie" else _VISIBLE
    return TOKEN if description.get("scheme", "").lower() == "bearer" else _VISIBLE

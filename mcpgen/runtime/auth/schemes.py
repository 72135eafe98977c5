"""Security schemes that need nothing but what the environment gives: keys, passwords, tokens."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mcpgen.runtime.auth.credentials import AppliedCredentials, Scheme
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.http import ClientCertificate, Sender


def make_scheme(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> Scheme:
    """Make a scheme of its Security Scheme Object; `variables` are names, by part.

    Raises:
        ConfigurationError: the type is unknown, or a set value cannot travel.
        KeyError: the description or the variables lack what the type needs.
    """
    kind = description["type"]
    if kind == "apiKey":
        return _api_key(description, variables, environ)
    if kind == "http":
        return _http(description["scheme"], variables, environ)
    if kind == "mutualTLS":
        return _mutual_tls(variables, environ)
    raise ConfigurationError(f"security schemes of type `{kind}` are not known")


@dataclass(frozen=True, slots=True)
class StaticScheme:
    """A scheme whose contribution never changes; `applied` is None while it is not configured."""

    variables: tuple[str, ...]
    applied: AppliedCredentials | None = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_configured(self) -> bool:
        """Whether the environment has all that the scheme needs."""
        return self.applied is not None

    async def apply(self, send: Sender, scopes: Sequence[str]) -> AppliedCredentials:  # noqa: ARG002  (the protocol's shape)
        """What the scheme adds to any request."""
        return self.applied or AppliedCredentials()

    def forget(self) -> bool:
        """Nothing was fetched, so nothing fresh can be had."""
        return False


def _api_key(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    variable, place, name = variables["value"], description["in"], description["name"]
    value = setting(environ, variable, allowed=_COOKIE_VALUE if place == "cookie" else _VISIBLE)
    make: Callable[[str], AppliedCredentials] = {
        "header": lambda key: AppliedCredentials(headers=((name, key),)),
        "query": lambda key: AppliedCredentials(query=((name, key),)),
        "cookie": lambda key: AppliedCredentials(cookies=((name, key),)),
    }[place]
    return StaticScheme((variable,), make(value) if value else None, (value,) if value else ())


def _http(scheme: str, variables: Mapping[str, str], environ: Mapping[str, str]) -> StaticScheme:
    name = scheme.lower()
    if name == "basic":
        return _basic(variables, environ)
    if name == "bearer":
        return _bearer(variables, environ)
    variable = variables["value"]
    value = setting(environ, variable)
    header = (("Authorization", f"{scheme} {value}"),)
    return StaticScheme((variable,), AppliedCredentials(header) if value else None, (value,))


def _bearer(variables: Mapping[str, str], environ: Mapping[str, str]) -> StaticScheme:
    variable = variables["value"]
    token = setting(environ, variable, allowed=TOKEN)
    return StaticScheme((variable,), bearer_header(token) if token else None, (token,))


def bearer_header(token: str) -> AppliedCredentials:
    """A bearer token as it travels (RFC 6750, section 2.1)."""
    return AppliedCredentials(headers=(("Authorization", f"Bearer {token}"),))


def _basic(variables: Mapping[str, str], environ: Mapping[str, str]) -> StaticScheme:
    """HTTP Basic (RFC 7617). An empty password is a password: some APIs take a key as the user."""
    username_variable, password_variable = variables["username"], variables["password"]
    names = (username_variable, password_variable)
    username = setting(environ, username_variable, allowed=TEXT)
    if not username or password_variable not in environ:
        return StaticScheme(names, None)
    password = setting(environ, password_variable, allowed=TEXT)
    if ":" in username:
        raise ConfigurationError(f"{username_variable} must not have a colon (RFC 7617)")
    pair = b64encode(f"{username}:{password}".encode()).decode()
    header = (("Authorization", f"Basic {pair}"),)
    return StaticScheme(names, AppliedCredentials(header), (password or username, pair))


def _mutual_tls(variables: Mapping[str, str], environ: Mapping[str, str]) -> StaticScheme:
    names = (variables["certificate_file"], variables["key_file"])
    certificate, key = (setting(environ, name, allowed=TEXT) for name in names)
    if not certificate or not key:
        return StaticScheme(names, None)
    files = ClientCertificate(certificate, key)
    return StaticScheme(names, AppliedCredentials(client_certificate=files))


_VISIBLE = re.compile(r"[\x20-\x7e]*\Z")
TOKEN = re.compile(r"[\x21-\x7e]*\Z")
_COOKIE_VALUE = re.compile(r"[\x21-\x2b\x2d-\x3a\x3c-\x7e]*\Z")
TEXT = re.compile(r"[^\x00-\x1f\x7f]*\Z")


def setting(
    environ: Mapping[str, str], variable: str, *, allowed: re.Pattern[str] = _VISIBLE
) -> str:
    """The value of an environment variable, without white space around it; "" when it is not set.

    Raises:
        ConfigurationError: it has characters that cannot travel; names the variable only.
    """
    value = environ.get(variable, "").strip()
    if not allowed.match(value):
        raise ConfigurationError(
            f"{variable} has a character that cannot be sent: a line break, a control or, where "
            "these separate things, a space or a semicolon"
        )
    return value

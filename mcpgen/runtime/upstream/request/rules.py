"""Parsed `request` of a tool's contract: how a call is sent to the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.bodies import BodyRule
from mcpgen.runtime.upstream.request.parameters import ParameterRule, PathTemplate, percent_encode

_LITERAL_IN_QUERY = "!$'()*+,;:@/?=%"
_LOCATIONS = frozenset({"path", "query", "querystring", "header", "cookie"})

# Framing, routing and credentials belong to the HTTP client and to the operator (RFC 9110;
# OpenAPI ignores header parameters called Accept, Content-Type and Authorization).
_NEVER_ARGUMENTS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NEVER_PREFIX = "proxy-"


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Request rules of one operation. Parameters are keyed by location and wire name."""

    method: str
    path: str
    parameters: Mapping[tuple[str, str], ParameterRule]
    body: BodyRule | None = None
    security: tuple[Mapping[str, list[str]], ...] = ()
    servers: tuple[JsonObject, ...] = field(default=())
    accept: tuple[str, ...] = ()
    also_answered: tuple[str, ...] = ()  # media types that are declared but not in `Accept`
    timeout_seconds: float | None = None  # for the whole call; None for the client's default
    attempts: int | None = None  # maximum number; None for the client's default
    idempotency_header: str = ""  # gets a fresh key for each call; "" for none
    source: str = ""  # key of the contract's `sources`; "" if there is only one API
    settings: frozenset[str] = frozenset()  # whose values the request contains if they are set
    reserved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of hidden parameters and credentials by location; no exploded member may use them."""
    template: PathTemplate = field(init=False, repr=False, compare=False)
    template_query: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        path, _, query = self.path.partition("#")[0].partition("?")
        object.__setattr__(self, "template", PathTemplate(path))
        object.__setattr__(self, "template_query", _parse_fixed_pairs(query))

    @classmethod
    def from_json(cls, entry: JsonObject) -> RequestRules:
        """Parse `request` of `tools/<tag>.json`.

        Raises:
            ConfigurationError: a parameter, header or media type is not allowed.
        """
        rules = [ParameterRule.from_json(parameter) for parameter in entry.get("parameters", ())]
        for rule in rules:
            _check_parameter(rule)
        body = entry.get("body")
        return cls(
            method=entry["method"],
            path=entry["path"],
            parameters={(rule.location, rule.name): rule for rule in rules},
            body=None if body is None else BodyRule.from_json(body),
            security=tuple(entry.get("security", ())),
            servers=tuple(entry.get("servers", ())),
            accept=tuple(entry.get("accept", ())),
            also_answered=tuple(entry.get("also_answered", ())),
            timeout_seconds=entry.get("timeout_seconds"),
            attempts=entry.get("attempts"),
            idempotency_header=_check_header_name(entry.get("idempotency_header", "")),
            source=entry.get("source", ""),
            reserved={name: tuple(names) for name, names in entry.get("reserved", {}).items()},
            settings=frozenset((*entry.get("needs_settings", ()), *entry.get("uses_settings", ()))),
        )

    def list_reserved_names(self, location: str, name: str) -> tuple[str, ...]:
        """Return the names that the members of this exploded parameter may not have."""
        declared = (other for place, other in self.parameters if place == location)
        in_path = [pair.partition("=")[0] for pair in self.template_query]
        return (
            *(other for other in declared if other != name),
            *(in_path if location == "query" else ()),
            *self.reserved.get(location, ()),
        )


def _parse_fixed_pairs(query: str) -> tuple[str, ...]:
    """Return the constant query pairs of a path template; pairs with a variable are parameters."""
    return tuple(
        percent_encode(pair, _LITERAL_IN_QUERY)
        for pair in query.split("&")
        if pair and "{" not in pair
    )


def _check_parameter(rule: ParameterRule) -> None:
    if rule.location not in _LOCATIONS:
        raise ConfigurationError(f"parameter `{rule.name}`: unknown location `{rule.location}`")
    if rule.location not in {"header", "cookie"}:
        return
    if not _is_token(rule.name):
        raise ConfigurationError(f"{rule.location} parameter `{rule.name}` is not an HTTP token")
    if rule.location == "header":
        _check_may_be_argument(rule.name)


def _check_may_be_argument(header: str) -> None:
    name = header.lower()
    if name in _NEVER_ARGUMENTS or name.startswith(_NEVER_PREFIX):
        raise ConfigurationError(
            f"header `{header}` controls the connection or carries credentials, "
            "so it cannot be an argument"
        )


def _check_header_name(name: str) -> str:
    """Return `name` if the runtime may set this header; "" is allowed.

    Raises:
        ConfigurationError: it is not an HTTP token, or controls the connection.
    """
    if name:
        if not _is_token(name):
            raise ConfigurationError(f"idempotency header `{name}` is not an HTTP token")
        _check_may_be_argument(name)
    return name


def _is_token(text: str) -> bool:
    """Return whether `text` is a valid header or cookie name (RFC 9110, section 5.6.2)."""
    return (
        bool(text) and text.isascii() and all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in text)
    )

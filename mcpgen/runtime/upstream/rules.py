"""The `request` of a tool's contract, read once: how a call of the tool travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.bodies import BodyRule
from mcpgen.runtime.upstream.parameters import ParameterRule, PathTemplate, percent_encode

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
        "forwarded",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NEVER_PREFIXES = ("proxy-", "x-forwarded-")


@dataclass(frozen=True, slots=True)
class RequestRules:
    """How one operation is called. Parameters are keyed by location and wire name."""

    method: str
    path: str
    parameters: Mapping[tuple[str, str], ParameterRule]
    body: BodyRule | None = None
    security: tuple[Mapping[str, list[str]], ...] = ()
    servers: tuple[JsonObject, ...] = field(default=())
    accept: tuple[str, ...] = ()
    also_answered: tuple[str, ...] = ()  # media types that are declared and not asked for
    timeout_seconds: float | None = None  # for a whole answer; None for the client's own
    attempts: int | None = None  # where a request may be repeated; None for the client's own
    source: str = ""  # of the contract's `sources`; "" where there is but one API
    template: PathTemplate = field(init=False, repr=False, compare=False)
    template_query: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        path, _, query = self.path.partition("#")[0].partition("?")
        object.__setattr__(self, "template", PathTemplate(path))
        object.__setattr__(self, "template_query", _fixed_pairs(query))

    @classmethod
    def from_json(cls, entry: JsonObject) -> RequestRules:
        """Read `request` as it stands in `tools/<tag>.json`.

        Raises:
            ConfigurationError: it asks for what must not or cannot be sent.
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
            source=entry.get("source", ""),
        )


def _fixed_pairs(query: str) -> tuple[str, ...]:
    """The pairs that a document writes into the path; those with a variable are parameters."""
    return tuple(
        percent_encode(pair, _LITERAL_IN_QUERY)
        for pair in query.split("&")
        if pair and "{" not in pair
    )


def _check_parameter(rule: ParameterRule) -> None:
    if rule.location not in _LOCATIONS:
        raise ConfigurationError(f"parameter `{rule.name}`: nothing travels in `{rule.location}`")
    if rule.location not in {"header", "cookie"}:
        return
    if not _is_token(rule.name):
        raise ConfigurationError(f"{rule.location} parameter `{rule.name}` is no HTTP token")
    name = rule.name.lower()
    if rule.location == "header" and (name in _NEVER_ARGUMENTS or name.startswith(_NEVER_PREFIXES)):
        raise ConfigurationError(
            f"header `{rule.name}` steers the connection or carries credentials, "
            "so it cannot be an argument"
        )


def _is_token(text: str) -> bool:
    """Whether `text` can name a header or a cookie (RFC 9110, section 5.6.2)."""
    return (
        bool(text) and text.isascii() and all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in text)
    )

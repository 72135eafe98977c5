"""Rules of a tool's contract for the request that a call sends to the API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from mcpgen.contract.http_names import is_reserved_header, is_token
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.bodies import BodyRule
from mcpgen.runtime.upstream.request.parameters import ParameterRule, PathTemplate, percent_encode

_LITERAL_IN_QUERY = "!$'()*+,;:@/?=%"
_LOCATIONS = frozenset({"path", "query", "querystring", "header", "cookie"})


class RequestRules(Struct, frozen=True, dict=True):
    """Request rules of one operation: `request` of a tool in `tools/<tag>.json`.

    Raises:
        ConfigurationError: a parameter, header or media type is not allowed.
    """

    method: str
    path: str
    parameters: tuple[ParameterRule, ...] = ()
    body: BodyRule | None = None
    security: tuple[dict[str, list[str]], ...] = ()
    servers: tuple[JsonObject, ...] = ()
    accept: tuple[str, ...] = ()
    also_answered: tuple[str, ...] = ()  # media types that are declared but not in `Accept`
    timeout_seconds: float | None = None  # for the whole call; None for the client's default
    max_concurrent: int | None = None  # calls of the operation; None for any number
    attempts: int | None = None  # maximum number; None for the client's default
    idempotency_header: str = ""  # gets a fresh key for each call; "" for none
    source: str = ""  # key of the contract's `sources`; "" if there is only one API
    needs_settings: tuple[str, ...] = ()
    uses_settings: tuple[str, ...] = ()  # whose values the request contains if they are set
    reserved: dict[str, tuple[str, ...]] = {}
    """Names of hidden parameters and credentials by location; no exploded member may use them."""

    def __post_init__(self) -> None:
        for rule in self.parameters:
            where, name = rule.location, rule.name
            if where not in _LOCATIONS:
                raise ConfigurationError(f"parameter `{name}`: unknown location `{where}`")
            if where in {"header", "cookie"}:
                _check_name(name, f"{where} parameter", is_header=where == "header")
        if self.idempotency_header:
            _check_name(self.idempotency_header, "idempotency header", is_header=True)

    @cached_property
    def by_place(self) -> Mapping[tuple[str, str], ParameterRule]:
        """The parameters by location and wire name."""
        return {(rule.location, rule.name): rule for rule in self.parameters}

    @cached_property
    def template(self) -> PathTemplate:
        """The path, without its query."""
        return PathTemplate(self.path.partition("#")[0].partition("?")[0])

    @cached_property
    def template_query(self) -> tuple[str, ...]:
        """The constant query pairs of the path; pairs with a variable are parameters."""
        query = self.path.partition("#")[0].partition("?")[2]
        return tuple(
            percent_encode(pair, _LITERAL_IN_QUERY)
            for pair in query.split("&")
            if pair and "{" not in pair
        )

    def list_reserved_names(self, location: str, name: str) -> tuple[str, ...]:
        """Return the names that the members of this exploded parameter may not have."""
        declared = (other for place, other in self.by_place if place == location)
        in_path = [pair.partition("=")[0] for pair in self.template_query]
        return (
            *(other for other in declared if other != name),
            *(in_path if location == "query" else ()),
            *self.reserved.get(location, ()),
        )


def _check_name(name: str, described: str, *, is_header: bool) -> None:
    if not is_token(name):
        raise ConfigurationError(f"{described} `{name}` is not an HTTP token")
    if is_header and is_reserved_header(name):
        raise ConfigurationError(
            f"header `{name}` controls the connection or carries credentials, "
            "so it cannot be an argument"
        )

"""Lowering of Security Scheme Objects and Security Requirement Objects of all versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from mcpgen.contract.http_names import find_scheme_fault
from mcpgen.ir.api import SchemeUse, SecurityRequirement, SecurityScheme
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.openapi.lower.servers import report_host

_FLOWS_OF_2_0 = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
_TYPES = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")


def read_schemes(node: Node, source: Source) -> tuple[SecurityScheme, ...]:
    """Lower the supported security schemes; sort them by id."""
    schemes = []
    for identifier, declared in sorted(node.members()):
        child = source.try_follow(declared)
        scheme = _scheme(identifier, child, source) if child else None
        if scheme is not None:
            schemes.append(scheme)
    return tuple(schemes)


def _scheme(identifier: str, node: Node, source: Source) -> SecurityScheme | None:
    kind = next((kind for kind in _TYPES if kind.lower() == node.text("type").lower()), "")
    http_scheme = node.text("scheme").lower()
    flows = object_of(node.child("flows").value)
    if node.text("type").lower() == "basic":  # Swagger 2.0
        kind, http_scheme = "http", "basic"
    elif kind == "oauth2" and not flows and node.text("flow"):
        flows = _flow_of_2_0(node)
    location = node.text("in").lower() if kind == "apiKey" else ""
    name = node.text("name") if kind == "apiKey" else ""
    if not kind:
        reason = f"expected a `type` of {', '.join(_TYPES)}"
    elif kind == "apiKey" and (location not in ("header", "query", "cookie") or not name):
        reason = "an apiKey needs `name`, and `in` one of header, query, cookie"
    elif kind == "http" and not http_scheme:
        reason = "an http scheme needs `scheme`"
    else:
        reason = find_scheme_fault(kind, location=location, name=name, http_scheme=http_scheme)
    if reason:
        source.warn(
            "security-scheme",
            f"the security scheme `{identifier}` is not used: {reason}",
            node.pointer,
        )
        return None
    _report_hosts(node, flows, source)
    return SecurityScheme(
        id=identifier,
        type=kind,
        at=source.at(node.pointer),
        location=location,
        name=name,
        http_scheme=http_scheme if kind == "http" else "",
        bearer_format=node.text("bearerFormat"),
        flows=_drop_invalid_urls(identifier, flows, node, source),
        openid_connect_url=_valid_url(
            identifier, "openIdConnectUrl", node.text("openIdConnectUrl"), node, source
        ),
        description=node.text("description"),
    )


def _report_hosts(node: Node, flows: JsonObject, source: Source) -> None:
    """Report suspicious hosts of token URLs, which would receive credentials."""
    for flow, described in sorted(flows.items()):
        for key in ("tokenUrl", "refreshUrl"):
            url = object_of(described).get(key)
            if isinstance(url, str):
                at = node.child("flows").child(flow).child(key) if "flows" in node.value else node
                report_host(url, at.pointer, source)
    if node.text("openIdConnectUrl"):
        report_host(node.text("openIdConnectUrl"), node.child("openIdConnectUrl").pointer, source)


def _drop_invalid_urls(
    identifier: str, flows: JsonObject, node: Node, source: Source
) -> JsonObject:
    """Return the flows without invalid URLs; other values, such as extensions, are dropped."""
    checked: JsonObject = {}
    for name, flow in flows.items():
        if not isinstance(flow, dict):
            continue
        checked[name] = flow
        for key in ("tokenUrl", "refreshUrl"):
            url = flow.get(key)
            if url is not None and not _valid_url(identifier, key, url, node, source):
                checked[name] = {**checked[name], key: ""}
    return checked


def _valid_url(identifier: str, key: str, url: JsonValue, node: Node, source: Source) -> str:
    """Return a URL, absolute or relative; "" if it is invalid, with a warning."""
    try:
        if (
            isinstance(url, str)
            and url.isprintable()
            and " " not in url
            and urlsplit(url).port != 0
        ):
            return url
    except ValueError:  # an invalid IPv6 address or port
        pass
    source.warn(
        "security-scheme",
        f"the {key} of the security scheme `{identifier}` is not used: it is not a URL",
        node.pointer,
        why="access tokens are not requested there",
    )
    return ""


def _flow_of_2_0(node: Node) -> JsonObject:
    flow: JsonObject = {"scopes": object_of(node.child("scopes").value)}
    for key in ("authorizationUrl", "tokenUrl"):
        if node.text(key):
            flow[key] = node.text(key)
    return {_FLOWS_OF_2_0.get(node.text("flow"), node.text("flow")): flow}


def read_security(
    node: Node, known: Mapping[str, SecurityScheme], source: Source
) -> tuple[SecurityRequirement, ...] | None:
    """Lower the alternatives at `node`; return None if there is no `security`.

    An alternative with an unknown scheme is dropped, as is the second API key in one place.
    """
    if isinstance(node.value, dict):
        source.warn("security", "expected a list, found an object; it was wrapped", node.pointer)
        node = Node([node.value], node.pointer)
    if not isinstance(node.value, list):
        return None
    alternatives = []
    for child in node.elements():
        if not isinstance(child.value, dict):
            continue
        unknown = sorted(name for name in child.value if name not in known)
        if unknown:
            source.warn(
                "unknown-security-scheme",
                f"unknown security scheme `{unknown[0]}`; the alternative was dropped",
                child.pointer,
                why="requests are sent without it, and the API may reject them",
            )
            continue
        alternatives.append(
            tuple(
                SchemeUse(name, _scopes(child.value[name], child, source))
                for name in _choose_schemes(child, known, source)
            )
        )
    return tuple(dict.fromkeys(alternatives))


def _choose_schemes(
    node: Node, known: Mapping[str, SecurityScheme], source: Source
) -> Iterator[str]:
    """Yield the schemes of a requirement, of the API keys in one place only the first."""
    taken: dict[tuple[str, str], str] = {}
    for name in sorted(object_of(node.value)):
        scheme = known[name]
        first = taken.setdefault(scheme.place, name) if scheme.type == "apiKey" else name
        if first == name:
            yield name
            continue
        source.warn(
            "security-scheme",
            f"`{name}` is not sent: `{first}` is the {scheme.location} `{scheme.name}` as well",
            node.pointer,
            why="a request can have one of them",
        )


def _scopes(declared: JsonValue, node: Node, source: Source) -> tuple[str, ...]:
    """Return the scopes of a requirement without invalid ones."""
    scopes = tuple(map(str, declared)) if isinstance(declared, list) else ()
    valid = tuple(scope for scope in scopes if scope.isascii() and scope.isprintable())
    if valid != scopes:
        source.warn(
            "security-scope",
            "invalid character in a scope (RFC 6749); the scope was dropped",
            node.pointer,
        )
    return valid

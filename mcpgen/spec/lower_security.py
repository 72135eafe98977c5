"""Security Scheme Objects and Security Requirement Objects of every version."""

from __future__ import annotations

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import SchemeUse, SecurityRequirement, SecurityScheme
from mcpgen.ir.json_types import JsonObject
from mcpgen.spec.lower_source import Node, Source, object_of

_FLOWS_OF_2_0 = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
_TYPES = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")


def read_schemes(node: Node, source: Source) -> tuple[SecurityScheme, ...]:
    """The security schemes that can be satisfied, by id."""
    schemes = []
    for identifier, declared in sorted(node.members()):
        try:
            child = source.follow(declared)
        except OperationRefusedError as refused:
            source.problems.warning(refused.code, refused.message, at=refused.at)
            continue
        scheme = _scheme(identifier, child, source)
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
    reason = ""
    if not kind:
        reason = f"its type is none of {', '.join(_TYPES)}"
    elif kind == "apiKey" and (location not in ("header", "query", "cookie") or not name):
        reason = "an apiKey needs `name`, and `in` one of header, query, cookie"
    elif kind == "http" and not http_scheme:
        reason = "an http scheme needs `scheme`"
    if reason:
        source.warn(
            "security-scheme",
            f"the security scheme `{identifier}` is not used: {reason}",
            node.pointer,
        )
        return None
    return SecurityScheme(
        id=identifier,
        type=kind,
        at=source.at(node.pointer),
        location=location,
        name=name,
        http_scheme=http_scheme if kind == "http" else "",
        bearer_format=node.text("bearerFormat"),
        flows=flows,
        openid_connect_url=node.text("openIdConnectUrl"),
        description=node.text("description"),
    )


def _flow_of_2_0(node: Node) -> JsonObject:
    flow: JsonObject = {"scopes": object_of(node.child("scopes").value)}
    for key in ("authorizationUrl", "tokenUrl"):
        if node.text(key):
            flow[key] = node.text(key)
    return {_FLOWS_OF_2_0.get(node.text("flow"), node.text("flow")): flow}


def read_security(
    node: Node, known: frozenset[str], source: Source
) -> tuple[SecurityRequirement, ...] | None:
    """The alternatives at `node`; None where nothing is said, so that the default holds.

    An alternative that names an unknown scheme cannot be satisfied and is dropped.
    """
    if isinstance(node.value, dict):
        source.warn("security", "`security` is a list; the one object was read as it", node.pointer)
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
                f"no usable security scheme is called `{unknown[0]}`; the alternative was dropped",
                child.pointer,
                why="requests are sent without it, and the API may refuse them",
            )
            continue
        alternatives.append(
            tuple(
                SchemeUse(name, tuple(str(s) for s in scopes) if isinstance(scopes, list) else ())
                for name, scopes in sorted(child.value.items())
            )
        )
    return tuple(dict.fromkeys(alternatives))

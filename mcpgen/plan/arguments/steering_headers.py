"""Steering headers: they override what servers and proxies derive from the request itself.

They replace the method, the URL, the host, the client's address or its identity. A caller who can
set one bypasses access rules, so they are arguments only if the manifest allows it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Place, Problems
from mcpgen.ir.api import Operation, Parameter
from mcpgen.plan.arguments.overrides import OverriddenOperation, WirePlace

_OF_METHODS = ("x-http-method", "x-http-method-override", "x-method-override")
_OF_URLS = ("x-original-uri", "x-original-url", "x-override-url", "x-rewrite-url")
_OF_HOSTS = ("x-backend-host", "x-host", "x-http-host-override", "x-original-host")
_OF_ADDRESSES = (
    "cf-connecting-ip", "cf-connecting-ipv6", "client-ip", "fastly-client-ip", "true-client-ip",
    "x-appengine-user-ip", "x-azure-clientip", "x-client-ip", "x-cluster-client-ip",
    "forwarded", "x-originating-ip", "x-real-ip", "x-remote-addr", "x-remote-ip",
)  # fmt: skip
_OF_IDENTITIES = (  # that a proxy states after it has authenticated a user
    "remote-user", "x-auth-request-email", "x-auth-request-user", "x-authenticated-user",
    "x-authenticated-userid", "x-client-cert", "x-remote-user", "x-ssl-client-cert",
    "x-webauth-user",
)  # fmt: skip
_STEERING = frozenset((*_OF_METHODS, *_OF_URLS, *_OF_HOSTS, *_OF_ADDRESSES, *_OF_IDENTITIES))
_METHOD_PARAMETERS = frozenset({"_method", "x-http-method-override"})


class SteeringParameter(Struct, frozen=True):
    """A parameter that servers or proxies obey, such as `X-HTTP-Method-Override`."""

    operation: str  # its key
    argument: str
    name: str  # on the wire
    at: Place
    is_required: bool
    is_hidden: bool


def hide_steering_headers(
    adjusted: OverriddenOperation, names: dict[WirePlace, str], kept: Collection[str]
) -> tuple[OverriddenOperation, list[SteeringParameter]]:
    """Hide the steering headers, except the arguments in `kept`; return those found.

    `names` are the argument names by place. A header with a single allowed value stays.
    """
    found = []
    for parameter in adjusted.offered.parameters:
        place = (parameter.location, parameter.name)
        name = parameter.name.lower()
        if parameter.location == "header" and _steers(name) and not _has_one_value(parameter):
            is_hidden = names[place] not in kept
        elif parameter.location == "query" and name in _METHOD_PARAMETERS:
            is_hidden = False
        else:
            continue
        found.append(
            SteeringParameter(
                adjusted.sent.key,
                names[place],
                parameter.name,
                parameter.at,
                parameter.required,
                is_hidden,
            )
        )
        if is_hidden:
            adjusted = replace(
                adjusted,
                sent=_without(adjusted.sent, place),
                offered=_without(adjusted.offered, place),
                hidden=(*adjusted.hidden, place),
            )
    return adjusted, found


def _steers(header: str) -> bool:
    return header in _STEERING or header.startswith("x-forwarded-")


def _has_one_value(parameter: Parameter) -> bool:
    schema = parameter.schema
    return isinstance(schema, dict) and ("const" in schema or len(schema.get("enum", ())) == 1)


def _without(operation: Operation, place: WirePlace) -> Operation:
    others = (it for it in operation.parameters if (it.location, it.name) != place)
    return replace(operation, parameters=tuple(others))


def report_steering(found: Iterable[SteeringParameter], problems: Problems) -> None:
    """Report each parameter once, with the entry of the manifest that changes it."""
    groups: dict[tuple[str, bool], list[SteeringParameter]] = {}
    for it in found:
        groups.setdefault((it.name, it.is_hidden), []).append(it)
    for (name, is_hidden), uses in sorted(groups.items()):
        if is_hidden:
            report = problems.warning if any(it.is_required for it in uses) else problems.note
            refusal = "; it is required, so the API may refuse calls"
            report(
                "steering-parameter",
                f"the header `{name}` is not an argument",
                at=uses[0].at,
                why="such headers let a caller impersonate others or bypass access rules"
                f"{refusal if any(it.is_required for it in uses) else ''}",
                help="to make it one, write in mcpgen.yaml: "
                f"{_format_entry(uses, 'hidden: false')}",
            )
        else:
            problems.note(
                "steering-parameter",
                f"the argument `{uses[0].argument}` lets a call steer servers or proxies",
                at=uses[0].at,
                why=f"`{name}` replaces the method, the URL or the origin of a request",
                help=f"to remove it, write in mcpgen.yaml: {_format_entry(uses, 'hidden: true')}",
            )


def _format_entry(uses: Sequence[SteeringParameter], value: str) -> str:
    """Spell the entry of the manifest for the first of some parameters."""
    operation = json.dumps(uses[0].operation)
    others = f", and the same for {len(uses) - 1} others" if len(uses) > 1 else ""
    parameters = f"{{{uses[0].argument}: {{{value}}}}}"
    return f"`operations: {{{operation}: {{parameters: {parameters}}}}}`{others}"

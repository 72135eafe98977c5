"""Default headers of requests; removal of header arguments such as `X-Forwarded-For`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError, Problems
from mcpgen.ir.api import Operation, Parameter
from mcpgen.ir.manifest import HeaderEntry
from mcpgen.ir.manifest_entries import Tokens
from mcpgen.ir.tool_plan import Fixed, SettingUse
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import (
    OverriddenOperation,
    WirePlace,
    change_parameter,
    find_header,
    make_header,
    name_arguments,
)
from mcpgen.plan.policy import Policy
from mcpgen.text.secret_names import is_secret_name

_ORDER = ("path", "query", "header", "cookie")


def plan_default_headers(policy: Policy, source: str) -> tuple[Fixed, ...]:
    """Return the headers of requests to a source's API; the source overrides the server."""
    found: dict[str, Fixed] = {}
    for tokens, name, entry in _iterate_entries(policy, source):
        if name.lower() not in found:
            found[name.lower()] = _make_header(name, entry, policy.intent.locate((*tokens, name)))
    return tuple(found[name] for name in sorted(found))


def _iterate_entries(
    policy: Policy, source: str
) -> Iterator[tuple[Tokens, str, str | HeaderEntry]]:
    manifest = policy.manifest
    for number, (each, name) in enumerate(zip(manifest.sources, policy.source_names, strict=False)):
        if source == name:
            tokens = ("sources", str(number), "headers")
            yield from ((tokens, name, entry) for name, entry in each.headers.items())
    yield from ((("headers",), name, entry) for name, entry in manifest.headers.items())


def _make_header(name: str, entry: str | HeaderEntry, at: Location) -> Fixed:
    if isinstance(entry, str):
        return Fixed("header", name, entry, is_default_header=True, at=at)
    setting = SettingUse(
        entry.from_environment,
        {"type": "string"},
        entry.description or f"Value of the header `{name}`, sent with every request.",
        required=entry.required and not entry.default,
        secret=is_secret_name(name.lower()) if entry.secret is None else entry.secret,
        at=at,
        default=entry.default or UNSET,
    )
    return Fixed("header", name, UNSET, setting, is_default_header=True, at=at)


def apply_default_headers(
    adjusted: OverriddenOperation,
    headers: Sequence[Fixed],
    stated: Collection[WirePlace],
    shapes: Shapes,
) -> OverriddenOperation:
    """Add default headers to an operation.

    A header parameter of the same name is hidden from clients, unless its place is in `stated`,
    the parameters that the manifest configures.

    Raises:
        OperationRefusedError: a header parameter of the operation cannot have the value.
    """
    for header in headers:
        name, at = header.wire_name, header.at or Location("")
        declared = find_header(adjusted.sent, (name.lower(),))
        place = ("header", name if declared is None else declared.name)
        if place in stated or place in adjusted.names:
            continue
        schema: JsonSchema = {"type": "string"} if declared is None else declared.schema
        if header.setting is None:
            _check(header.value, schema, shapes, adjusted.sent, name, at)
            schema = {"const": header.value}
        required = header.setting is None or header.setting.required
        parameter = make_header(place[1], at, schema, required=required)
        adjusted = replace(
            adjusted,
            sent=_replace_parameter(adjusted.sent, place, parameter),
            offered=change_parameter(adjusted.offered, place, lambda _: None),
            fixed=(*adjusted.fixed, replace(header, wire_name=place[1])),
        )
    return adjusted


def _check(
    value: JsonValue,
    schema: JsonSchema,
    shapes: Shapes,
    operation: Operation,
    name: str,
    at: Location,
) -> None:
    samples = Samples(shapes.schemas, "request")
    problem = samples.problem(schema, value)
    if problem and samples.problem(schema, _parse_scalar(value)):
        raise OperationRefusedError(
            "header",
            f"`{operation.key}` cannot have this value of the header `{name}`",
            at,
            problem,
        )


def _parse_scalar(text: JsonValue) -> JsonValue:
    """Parse a text as JSON, such as a number or a boolean, or return it."""
    try:
        return msgspec.json.decode(str(text))
    except msgspec.DecodeError:
        return text


def _replace_parameter(operation: Operation, place: WirePlace, parameter: Parameter) -> Operation:
    """Return the operation with another parameter at a place."""
    found = [*(it for it in operation.parameters if it.wire_place != place), parameter]
    found.sort(key=lambda it: _ORDER.index(it.location) if it.location in _ORDER else 4)
    return replace(operation, parameters=tuple(found))


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
    parameter: Parameter
    is_hidden: bool


def hide_steering_headers(
    adjusted: OverriddenOperation, operation: Operation, kept: Collection[str]
) -> tuple[OverriddenOperation, list[SteeringParameter]]:
    """Hide the steering headers, except the arguments in `kept`; return those found.

    `operation` is the document's, which names the arguments. A header with a single allowed value
    stays.
    """
    found: list[SteeringParameter] = []
    steering = [it for it in adjusted.offered.parameters if _is_steering(it)]
    names = name_arguments(operation) if steering else {}
    for parameter in steering:
        place = parameter.wire_place
        is_hidden = parameter.location == "header" and names[place] not in kept
        found.append(SteeringParameter(adjusted.sent.key, names[place], parameter, is_hidden))
        if is_hidden:
            adjusted = replace(
                adjusted,
                sent=change_parameter(adjusted.sent, place, lambda _: None),
                offered=change_parameter(adjusted.offered, place, lambda _: None),
                hidden=(*adjusted.hidden, place),
            )
    return adjusted, found


def _is_steering(parameter: Parameter) -> bool:
    name = parameter.name.lower()
    if parameter.location == "query":
        return name in _METHOD_PARAMETERS
    steers = name in _STEERING or name.startswith("x-forwarded-")
    return parameter.location == "header" and steers and not _has_one_value(parameter)


def _has_one_value(parameter: Parameter) -> bool:
    schema = parameter.schema
    return isinstance(schema, dict) and ("const" in schema or len(schema.get("enum", ())) == 1)


def report_steering(found: Iterable[SteeringParameter], problems: Problems) -> None:
    """Report each parameter once, with the entry of the manifest that changes it."""
    groups: dict[tuple[str, bool], list[SteeringParameter]] = {}
    for it in found:
        groups.setdefault((it.parameter.name, it.is_hidden), []).append(it)
    for (name, is_hidden), uses in sorted(groups.items()):
        at, is_required = uses[0].parameter.at, any(it.parameter.required for it in uses)
        if is_hidden:
            report = problems.warning if is_required else problems.note
            refusal = "; it is required, so the API may refuse calls" if is_required else ""
            report(
                "steering-parameter",
                f"the header `{name}` is not an argument",
                at=at,
                why=f"such headers let a caller impersonate others or bypass access rules{refusal}",
                help="to make it one, write in mcpgen.yaml: "
                f"{_format_entry(uses, 'hidden: false')}",
            )
        else:
            problems.note(
                "steering-parameter",
                f"the argument `{uses[0].argument}` lets a call steer servers or proxies",
                at=at,
                why=f"`{name}` replaces the method, the URL or the origin of a request",
                help=f"to remove it, write in mcpgen.yaml: {_format_entry(uses, 'hidden: true')}",
            )


def _format_entry(uses: Sequence[SteeringParameter], value: str) -> str:
    """Return the entry of the manifest for the first of some parameters."""
    operation = json.dumps(uses[0].operation)
    others = f", and the same for {len(uses) - 1} others" if len(uses) > 1 else ""
    parameters = f"{{{uses[0].argument}: {{{value}}}}}"
    return f"`operations: {{{operation}: {{parameters: {parameters}}}}}`{others}"

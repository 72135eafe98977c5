"""Serialization of a handler's values to the parts of a request, as the contract defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.absent import ABSENT, Absent
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.upstream.request.bodies import BodyRule, EncodedBody, encode_body
from mcpgen.runtime.upstream.request.files import FileReader
from mcpgen.runtime.upstream.request.forms import format_querystring
from mcpgen.runtime.upstream.request.parameters import (
    ParameterRule,
    UnsendableError,
    UnsendablePathError,
    check_members,
    check_spellings,
    format_cookie,
    format_header,
    format_query,
)
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

T = TypeVar("T")


class RequestParts(Struct, frozen=True):
    """A serialized request, without base URL and credentials."""

    tool: str
    method: str
    path: str
    query: tuple[str, ...] = ()  # "name=value"
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()  # "name=value"
    body: bytes | None = None

    def __repr__(self) -> str:  # arguments of a call may be secret
        return f"RequestParts({self.tool!r}, {self.method!r}, {self.path!r})"


def build_parts(
    tool: str,
    rules: RequestRules,
    method: str,
    path: str,
    *,
    values: Mapping[str, Mapping[str, Any]],
    querystring: Any = ABSENT,
    body: Any = ABSENT,
    content_type: str | Absent = ABSENT,
    files: FileReader | None = None,
) -> RequestParts:
    """Serialize a request. `values` is keyed by location, then wire name; ABSENT is skipped.

    Raises:
        InvalidArgumentsError: an argument cannot be represented in its location.
        ToolError: the value of a setting cannot be represented.
        ResourceNeededError: a file argument names a resource that `files` does not have.
        ConfigurationError: the handler contradicts the contract.
    """
    if (method, path) != (rules.method, rules.path):
        raise ConfigurationError(
            f"the handler of `{tool}` calls `{method} {path}`, but its contract declares "
            f"`{rules.method} {rules.path}`"
        )
    by_location = {
        location: {name: value for name, value in by_name.items() if value is not ABSENT}
        for location, by_name in values.items()
    }
    for location, by_name in by_location.items():
        for name, value in by_name.items():
            if isinstance(value, dict):
                _check_exploded(tool, rules, _find_rule(tool, rules, location, name), value)
    encoded_body = _encode_body(tool, rules, body, content_type, files or FileReader())
    query: list[str] = []
    for name, value in by_location["query"].items():
        query += _format(tool, _find_rule(tool, rules, "query", name), value, format_query)
    if querystring is not ABSENT:
        rule = _find_querystring_rule(tool, rules)
        if isinstance(querystring, dict):
            _check_exploded(tool, rules, replace(rule, location="query", explode=True), querystring)
        query.append(_format(tool, rule, querystring, format_querystring))
    headers = [
        (name, _format(tool, _find_rule(tool, rules, "header", name), value, format_header))
        for name, value in by_location["header"].items()
    ]
    if rules.accept:
        headers.append(("Accept", ", ".join(rules.accept)))
    if encoded_body is not None:
        headers.append(("Content-Type", encoded_body.content_type))
    cookies: list[str] = []
    for name, value in by_location["cookie"].items():
        cookies += _format(tool, _find_rule(tool, rules, "cookie", name), value, format_cookie)
    return RequestParts(
        tool,
        method,
        _expand_path(tool, rules, by_location["path"]),
        (*rules.template_query, *query),
        tuple(headers),
        tuple(cookies),
        None if encoded_body is None else encoded_body.content,
    )


def _find_rule(tool: str, rules: RequestRules, location: str, name: str) -> ParameterRule:
    rule = rules.by_place.get((location, name))
    if rule is None:
        raise ConfigurationError(
            f"the handler of `{tool}` sends the {location} parameter `{name}`, "
            "which its contract does not declare"
        )
    return rule


def _check_exploded(
    tool: str, rules: RequestRules, rule: ParameterRule, value: Mapping[str, Any]
) -> None:
    """Check the members of an exploded object, which become separate parameters."""
    if not rule.explode or rule.style == "deepObject":
        return
    try:
        check_members(value, rules.list_reserved_names(rule.location, rule.name))
    except UnsendableError as error:
        raise _make_value_error(tool, rule, error) from None


def _find_querystring_rule(tool: str, rules: RequestRules) -> ParameterRule:
    for rule in rules.parameters:
        if rule.location == "querystring":
            return rule
    raise ConfigurationError(
        f"the handler of `{tool}` sends a query string, which its contract does not declare"
    )


def _format(
    tool: str, rule: ParameterRule, value: Any, format_value: Callable[[ParameterRule, Any], T]
) -> T:
    try:
        return format_value(rule, value)
    except UnsendableError as error:
        raise _make_value_error(tool, rule, error) from None


def _make_value_error(
    tool: str, rule: ParameterRule, error: UnsendableError
) -> InvalidArgumentsError | ToolError:
    """Return the error for the value of an argument or a setting that cannot be sent."""
    if rule.setting:
        return ToolError(f"`{tool}` cannot send the setting {rule.setting}: it {error}")
    return _make_argument_error(tool, rule.argument or rule.name, error)


def _make_argument_error(tool: str, argument: str, error: UnsendableError) -> InvalidArgumentsError:
    return InvalidArgumentsError(tool, (f"`{json_pointer([argument])}{error.pointer}` {error}",))


def _expand_path(tool: str, rules: RequestRules, values: JsonObject) -> str:
    by_name = {name: _find_rule(tool, rules, "path", name) for name in values}
    try:
        return rules.template.expand(by_name, values)
    except UnsendablePathError as error:
        raise _make_value_error(tool, by_name[error.name], error) from None
    except KeyError as missing:
        raise ConfigurationError(
            f"the handler of `{tool}` passes no value for {missing} in `{rules.path}`"
        ) from None


def _remove_absent(value: Any) -> Any:
    """Remove the ABSENT members of a composed body."""
    if isinstance(value, dict):
        return {name: _remove_absent(item) for name, item in value.items() if item is not ABSENT}
    return [_remove_absent(item) for item in value] if isinstance(value, list) else value


def _encode_body(
    tool: str, rules: RequestRules, value: Any, content_type: str | Absent, files: FileReader
) -> EncodedBody | None:
    if value is ABSENT:
        return None
    if rules.body is None:
        raise ConfigurationError(
            f"the handler of `{tool}` sends a body, which its contract does not declare"
        )
    try:
        chosen = rules.body.choose("" if content_type is ABSENT else content_type)
    except UnsendableError as error:
        raise _make_argument_error(tool, rules.body.content_type_argument, error) from None
    if rules.body.is_composed:
        value = _remove_absent(value)
    try:
        if isinstance(value, dict):
            check_spellings(value, rules.body.reserved)
        return encode_body(chosen, value, files, rules.body.reserved)
    except UnsendableError as error:
        raise _make_body_error(tool, rules.body, error) from None


def _make_body_error(tool: str, body: BodyRule, error: UnsendableError) -> InvalidArgumentsError:
    """Return the error for a body that cannot be sent, or for the argument that is a member."""
    if not body.arguments:
        return _make_argument_error(tool, body.argument, error)
    name, *rest = pointer_tokens(error.pointer) or ("",)
    if name not in body.arguments:
        return InvalidArgumentsError(tool, (f"the request body {error}",))
    pointer = json_pointer([body.arguments[name], *rest])
    return InvalidArgumentsError(tool, (f"`{pointer}` {error}",))

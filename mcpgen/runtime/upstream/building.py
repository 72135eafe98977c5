"""A request's parts, from a handler's values and the contract: all but host and credentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcpgen.runtime.absent import ABSENT, Absent
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.upstream.bodies import EncodedBody, encode_body
from mcpgen.runtime.upstream.files import FileReader
from mcpgen.runtime.upstream.forms import querystring_text
from mcpgen.runtime.upstream.parameters import (
    ParameterRule,
    UnsendableError,
    UnsendablePathError,
    cookie_pairs,
    header_text,
    query_pairs,
)
from mcpgen.runtime.upstream.rules import RequestRules

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestParts:
    """One request below its base URL. All of it is spelled as it will travel."""

    tool: str
    method: str
    path: str
    query: tuple[str, ...] = field(default=(), repr=False)  # "name=value"
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: tuple[str, ...] = field(default=(), repr=False)  # "name=value"
    body: bytes | None = field(default=None, repr=False)


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
    """Spell a request; `values` are by location, then wire name, and ABSENT ones are left out.

    Raises:
        InvalidArgumentsError: a value has no faithful spelling where it belongs.
        ToolError: the value of a setting has none.
        ResourceNeededError: a file argument names a resource that `files` does not hold.
        ConfigurationError: the handler and the contract disagree.
    """
    if (method, path) != (rules.method, rules.path):
        raise ConfigurationError(
            f"the handler of `{tool}` calls `{method} {path}`, and its contract is for "
            f"`{rules.method} {rules.path}`"
        )
    given = {
        location: {name: value for name, value in by_name.items() if value is not ABSENT}
        for location, by_name in values.items()
    }
    encoded_body = _body(tool, rules, body, content_type, files or FileReader())
    query: list[str] = []
    for name, value in given["query"].items():
        query += _spell(tool, _rule(tool, rules, "query", name), value, query_pairs)
    if querystring is not ABSENT:
        query.append(_spell(tool, _querystring_rule(tool, rules), querystring, querystring_text))
    headers = [
        (name, _spell(tool, _rule(tool, rules, "header", name), value, header_text))
        for name, value in given["header"].items()
    ]
    if rules.accept:
        headers.append(("Accept", ", ".join(rules.accept)))
    if encoded_body is not None:
        headers.append(("Content-Type", encoded_body.content_type))
    cookies: list[str] = []
    for name, value in given["cookie"].items():
        cookies += _spell(tool, _rule(tool, rules, "cookie", name), value, cookie_pairs)
    return RequestParts(
        tool,
        method,
        _path(tool, rules, given["path"]),
        (*rules.template_query, *query),
        tuple(headers),
        tuple(cookies),
        None if encoded_body is None else encoded_body.content,
    )


def _rule(tool: str, rules: RequestRules, location: str, name: str) -> ParameterRule:
    rule = rules.parameters.get((location, name))
    if rule is None:
        raise ConfigurationError(
            f"the handler of `{tool}` sends the {location} parameter `{name}`, "
            "which its contract does not have"
        )
    return rule


def _querystring_rule(tool: str, rules: RequestRules) -> ParameterRule:
    for (location, _), rule in rules.parameters.items():
        if location == "querystring":
            return rule
    raise ConfigurationError(
        f"the handler of `{tool}` sends a query string, which its contract does not have"
    )


def _spell(
    tool: str, rule: ParameterRule, value: Any, spell: Callable[[ParameterRule, Any], T]
) -> T:
    try:
        return spell(rule, value)
    except UnsendableError as error:
        raise _refused_value(tool, rule, error) from None


def _refused_value(
    tool: str, rule: ParameterRule, error: UnsendableError
) -> InvalidArgumentsError | ToolError:
    """Return the error for a value that cannot be sent: of an argument, or of a setting."""
    if rule.setting:
        return ToolError(f"`{tool}` cannot send the setting {rule.setting}: it {error}")
    return _refused(tool, rule.argument or rule.name, error)


def _refused(tool: str, argument: str, error: UnsendableError) -> InvalidArgumentsError:
    pointer = argument.replace("~", "~0").replace("/", "~1")
    return InvalidArgumentsError(tool, (f"`/{pointer}{error.pointer}` {error}",))


def _path(tool: str, rules: RequestRules, values: JsonObject) -> str:
    by_name = {name: _rule(tool, rules, "path", name) for name in values}
    try:
        return rules.template.expand(by_name, values)
    except UnsendablePathError as error:
        raise _refused_value(tool, by_name[error.name], error) from None
    except KeyError as missing:
        raise ConfigurationError(
            f"the handler of `{tool}` gives no value for {missing} in `{rules.path}`"
        ) from None


def _present(value: Any) -> Any:
    """A composed body without the members that are ABSENT."""
    if isinstance(value, dict):
        return {name: _present(item) for name, item in value.items() if item is not ABSENT}
    return [_present(item) for item in value] if isinstance(value, list) else value


def _body(
    tool: str, rules: RequestRules, value: Any, content_type: str | Absent, files: FileReader
) -> EncodedBody | None:
    if value is ABSENT:
        return None
    if rules.body is None:
        raise ConfigurationError(
            f"the handler of `{tool}` sends a body, which its contract does not have"
        )
    try:
        chosen = rules.body.choose("" if content_type is ABSENT else content_type)
    except UnsendableError as error:
        raise _refused(tool, rules.body.content_type_argument, error) from None
    if rules.body.is_composed:
        value = _present(value)
    try:
        return encode_body(chosen, value, files)
    except UnsendableError as error:
        raise _refused(tool, rules.body.argument, error) from None

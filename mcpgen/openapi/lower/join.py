"""Joining of several APIs into one, with distinct names of schemas, schemes and tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.ir.api import Api, ApiSource, SchemeUse
from mcpgen.jsonschema.references import PREFIX
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.lower.lower import DEFAULT_TAG

T = TypeVar("T")


def qualify_names(api: Api, source: ApiSource) -> Api:
    """Prefix the names of an API's schemas, schemes and tags with the name of its source."""
    name = source.name
    tags = {
        operation.tag: name if operation.tag == DEFAULT_TAG else f"{name} {operation.tag}"
        for operation in api.operations
    }
    renamed = with_schema_names(api, f"{name}.")
    return replace(
        renamed,
        servers=(),
        security_schemes=tuple(
            replace(scheme, id=f"{name}.{scheme.id}", source=name)
            for scheme in api.security_schemes
        ),
        operations=tuple(
            replace(
                operation,
                source=name,
                tag=tags[operation.tag],
                security=tuple(
                    tuple(SchemeUse(f"{name}.{use.scheme}", use.scopes) for use in alternative)
                    for alternative in operation.security
                ),
            )
            for operation in renamed.operations
        ),
        tag_descriptions={
            tags[tag]: text for tag, text in api.tag_descriptions.items() if tag in tags
        },
        skipped=tuple(replace(left, operation=f"{name}:{left.operation}") for left in api.skipped),
        sources=(replace(source, servers=api.servers),),
    )


def join_apis(apis: Iterable[Api]) -> Api:
    """Join APIs with distinct names into one.

    Title and version are those of the first one. So is the description, which lists the titles if
    several have one. The servers are those of the unnamed source, if there is one.
    """
    first, *others = parts = list(apis)
    if not others:
        return first
    unnamed = next((api for api in parts if any(not each.name for each in api.sources)), first)
    schemes = {scheme.id: scheme for api in parts for scheme in api.security_schemes}
    sources = {source.name: source for api in parts for source in api.sources}
    operations = (operation for api in parts for operation in api.operations)
    infos = tuple(info for api in parts for info in api.infos)
    titles = list(dict.fromkeys(info.title for info in infos if info.title and info.description))
    return replace(
        first,
        description=first.description if len(titles) < 2 else f"Tools of {', '.join(titles)}.",
        servers=unnamed.servers,
        security_schemes=tuple(schemes[name] for name in sorted(schemes)),
        operations=tuple(sorted(operations, key=lambda it: (it.tag, it.path, it.method, it.key))),
        schemas=dict(sorted(item for api in parts for item in api.schemas.items())),
        tag_descriptions={tag: text for api in parts for tag, text in api.tag_descriptions.items()},
        skipped=tuple(
            sorted((left for api in parts for left in api.skipped), key=lambda it: it.operation)
        ),
        prompts=tuple(prompt for api in parts for prompt in api.prompts),
        infos=infos,
        sources=tuple(sources[name] for name in sorted(sources)),
    )


def with_schema_names(api: Api, prefix: str) -> Api:
    """Prefix the names of an API's schemas, and the references to them."""
    return replace(
        api,
        operations=_prefix_references(api.operations, prefix),
        schemas={
            f"{prefix}{name}": _schema(schema, prefix) for name, schema in api.schemas.items()
        },
    )


_HOLDING = (
    "content", "encoding", "headers", "item_encoding", "parameters", "prefix_encoding",
    "request_body", "responses",
)  # fmt: skip


def _prefix_references(node: T, prefix: str) -> T:
    """Prefix the schema references in a part of an operation."""
    if isinstance(node, tuple):
        return tuple(_prefix_references(item, prefix) for item in node)  # type: ignore[return-value]  # T: tuple
    if isinstance(node, dict):
        return {key: _prefix_references(item, prefix) for key, item in node.items()}  # type: ignore[return-value]  # T: dict
    if not isinstance(node, Struct):
        return node
    changes = {
        name: _prefix_references(getattr(node, name), prefix)
        for name in _HOLDING
        if hasattr(node, name)
    }
    for name in ("schema", "item_schema"):
        if hasattr(node, name):
            changes[name] = _schema(getattr(node, name), prefix)
    return replace(node, **changes)


def _schema(schema: JsonValue, prefix: str) -> JsonValue:
    if isinstance(schema, list):
        return [_schema(item, prefix) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _schema(value, prefix) for key, value in schema.items()}
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith(PREFIX):
        found["$ref"] = PREFIX + prefix + reference.removeprefix(PREFIX)
    return found

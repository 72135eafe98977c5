"""The structure of OpenAPI documents as data: which kind of object is allowed at which key.

It lists only objects that are or contain references; the meta-schema validates the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from mcpgen.jsonschema.types import MAPS_OF_SCHEMAS, ONE_SCHEMA, SEVERAL_SCHEMAS

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
"""Fixed fields of a Path Item that hold operations (`query` since 3.2)."""


class Kind(Struct, eq=False):
    """A kind of object, map or array, with the kinds of its children; compared by identity.

    `fields` are the fixed keys, `others` is the kind at every other key of a map, `items` that of
    the elements of an array.
    """

    name: str  # with its article: "a parameter"
    takes_ref: bool = False  # OpenAPI allows `{"$ref": …}` instead
    is_detached: bool = False  # a fault in it does not affect the operation that contains it
    skips_extensions: bool = False  # a map whose `x-` keys are not entries
    may_be_boolean: bool = False
    is_optional: bool = False  # lowering checks its shape and can ignore it
    fields: dict[str, Kind] = field(default_factory=dict)
    others: Kind | None = None
    items: Kind | None = None
    single: Kind | None = None  # the kind that is allowed instead of an array

    def child(self, key: str) -> Kind | None:
        """Return the kind at `key`; None if any value is allowed."""
        known = self.fields.get(key)
        if known is not None:
            return known
        if self.skips_extensions and key.startswith("x-"):
            return None
        return self.others or self.items

    @property
    def is_map(self) -> bool:
        """Whether its keys are names that the document's author chose."""
        return self.others is not None and not self.takes_ref


def _map_of(kind: Kind, *, skips_extensions: bool = False) -> Kind:
    return Kind(
        f"an object with {kind.name} under each key",
        others=kind,
        skips_extensions=skips_extensions,
        is_optional=kind.is_optional,
    )


def _list_of(kind: Kind) -> Kind:
    return Kind(f"an array with {kind.name} in each place", items=kind)


def _schema_kind() -> Kind:
    """Return the kind of schemas, with the subschemas of all drafts that OpenAPI uses."""
    schema = Kind("a schema", takes_ref=True, may_be_boolean=True)
    named, several = _map_of(schema), _list_of(schema)
    one_or_several = Kind("a schema or an array of them", items=schema, single=schema)
    schema.fields.update(dict.fromkeys(MAPS_OF_SCHEMAS | {"definitions"}, named))
    schema.fields.update(dict.fromkeys(SEVERAL_SCHEMAS, several))
    schema.fields.update(dict.fromkeys(ONE_SCHEMA | {"additionalItems", "contentSchema"}, schema))
    schema.fields["items"] = one_or_several
    return schema


def _common_fields() -> dict[str, Kind]:
    """Return the root fields of all versions that lowering reads tolerantly."""
    return {
        "info": Kind("an info object", is_detached=True, is_optional=True),
        "tags": _optional_list_of("a tag"),
        "security": _optional_list_of("a security requirement"),
    }


def _optional_list_of(name: str) -> Kind:
    entry = Kind(name, is_optional=True)
    return Kind(
        f"an array with {name} in each place", is_detached=True, is_optional=True, items=entry
    )


class Grammar(Struct, frozen=True):
    """The kinds of one major version, and the pointers of its components.

    `document_wide` are the keys of the root whose values apply to all operations.
    """

    document: Kind
    path_item: Kind
    operation: Kind
    schema: Kind
    component_maps: Mapping[Kind, str]  # kind -> pointer to the map of its named ones
    document_wide: tuple[str, ...]


def _openapi_3() -> Grammar:
    schema = _schema_kind()
    example = Kind("an example", takes_ref=True, is_detached=True)
    link = Kind("a link", takes_ref=True, is_detached=True)
    security_scheme = Kind("a security scheme", takes_ref=True)
    media_type = Kind("a media type", takes_ref=True)
    header = Kind("a header", takes_ref=True)
    parameter = Kind("a parameter", takes_ref=True)
    encoding = Kind("an encoding")
    request_body = Kind("a request body", takes_ref=True)
    response = Kind("a response", takes_ref=True)
    operation = Kind("an operation")
    path_item = Kind("a path item", takes_ref=True)
    callback = Kind("a callback", takes_ref=True, is_detached=True, skips_extensions=True)
    common = {**_common_fields(), "servers": _optional_list_of("a server")}

    content, examples = _map_of(media_type), _map_of(example)
    described = {"schema": schema, "content": content, "examples": examples}
    header.fields.update(described)
    parameter.fields.update(described)
    encodings = {"encoding": _map_of(encoding), "prefixEncoding": _list_of(encoding)}
    encodings["itemEncoding"] = encoding
    encoding.fields.update(encodings, headers=_map_of(header))
    media_type.fields.update(encodings, schema=schema, itemSchema=schema, examples=examples)
    request_body.fields.update(content=content)
    response.fields.update(headers=_map_of(header), content=content, links=_map_of(link))
    operation.fields.update(
        parameters=_list_of(parameter),
        requestBody=request_body,
        responses=_map_of(response, skips_extensions=True),
        callbacks=_map_of(callback),
        servers=common["servers"],
        security=common["security"],
    )
    path_item.fields.update(dict.fromkeys(METHODS, operation))
    path_item.fields.update(parameters=_list_of(parameter), additionalOperations=_map_of(operation))
    path_item.fields.update(servers=common["servers"])
    callback.others = path_item
    named = {
        "schemas": schema,
        "responses": response,
        "parameters": parameter,
        "examples": example,
        "requestBodies": request_body,
        "headers": header,
        "securitySchemes": security_scheme,
        "links": link,
        "callbacks": callback,
        "pathItems": path_item,
        "mediaTypes": media_type,
    }
    components = Kind(
        "a components object", fields={name: _map_of(kind) for name, kind in named.items()}
    )
    document = Kind(
        "an object",
        fields={
            **common,
            "paths": _map_of(path_item, skips_extensions=True),
            "webhooks": Kind(
                "an object with a path item under each key", is_detached=True, others=path_item
            ),
            "components": components,
        },
    )
    pointers = {kind: f"/components/{name}" for name, kind in named.items()}
    return Grammar(document, path_item, operation, schema, pointers, tuple(common))


def _openapi_2() -> Grammar:
    schema = _schema_kind()
    items = Kind("an items object")
    items.fields.update(items=items)
    header = Kind("a header", fields={"items": items})
    common = _common_fields()
    parameter = Kind("a parameter", takes_ref=True, fields={"schema": schema, "items": items})
    response = Kind(
        "a response", takes_ref=True, fields={"schema": schema, "headers": _map_of(header)}
    )
    operation = Kind(
        "an operation",
        fields={
            "parameters": _list_of(parameter),
            "responses": _map_of(response, skips_extensions=True),
            "security": common["security"],
        },
    )
    path_item = Kind("a path item", takes_ref=True, fields={"parameters": _list_of(parameter)})
    path_item.fields.update(dict.fromkeys(METHODS[:7], operation))
    named = {
        "definitions": schema,
        "parameters": parameter,
        "responses": response,
        "securityDefinitions": Kind("a security scheme", is_optional=True),
    }
    document = Kind(
        "an object",
        fields={
            **common,
            "paths": _map_of(path_item, skips_extensions=True),
            **{name: _map_of(kind) for name, kind in named.items()},
        },
    )
    pointers = {kind: f"/{name}" for name, kind in named.items()}
    return Grammar(document, path_item, operation, schema, pointers, tuple(common))


_SWAGGER, _OPENAPI = _openapi_2(), _openapi_3()


def grammar_of(version: str) -> Grammar:
    """Return the grammar of a `Document.version`."""
    return _SWAGGER if version == "2.0" else _OPENAPI

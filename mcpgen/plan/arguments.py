"""The arguments of a tool: parameters and body, named, typed and described."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Encoding, MediaType, Operation, Parameter
from mcpgen.ir.json_types import JsonObject, JsonSchema
from mcpgen.ir.tool_plan import Annotation, Argument
from mcpgen.plan.input_profile import FILE_IN_WORDS
from mcpgen.plan.media_types import (
    STRUCTURED,
    Kind,
    kind_of,
    kind_of_body,
    ranked,
    spelled_for_sending,
)
from mcpgen.plan.naming import argument_names, identifier, pascal_case
from mcpgen.plan.types import Types

BODY, CONTENT_TYPE = "body", "content_type"


@dataclass(frozen=True, slots=True)
class Listed:
    """An argument and its schema as it is described to clients."""

    argument: Argument
    schema: JsonSchema
    says_less: bool = False  # than `argument.schema`, which is then checked


def plan_arguments(operation: Operation, types: Types, hint: str) -> tuple[Listed, ...]:
    """What a call of `operation` takes: required arguments first, each in its own order.

    Raises:
        OperationRefusedError: a body that the runtime cannot write is required.
    """
    names = argument_names(
        [(parameter.location, parameter.name) for parameter in operation.parameters]
    )
    listed = [
        _parameter(parameter, names[parameter.location, parameter.name], types, hint)
        for parameter in operation.parameters
    ]
    listed += _body(operation, types, hint)
    return tuple(sorted(listed, key=lambda item: not item.argument.required))


def _parameter(parameter: Parameter, name: str, types: Types, hint: str) -> Listed:
    whole = _never_empty(parameter, types)
    schema = _described(whole, parameter.description, parameter.deprecated)
    argument = Argument(
        name=name,
        identifier=identifier(name),
        location=parameter.location,
        wire_name=parameter.name,
        required=parameter.required,
        annotation=types.of(parameter.schema, "request", hint + pascal_case(name)).annotation,
        schema=whole,
    )
    return Listed(argument, schema)


def _never_empty(parameter: Parameter, types: Types) -> JsonSchema:
    """The schema of a parameter, without the empty value where that could not be sent.

    A segment of a path is never empty, and an empty array has no exploded spelling, so that a
    required one would be missing (RFC 6570, section 2.4.2).
    """
    schema = parameter.schema
    is_segment = parameter.location == "path"
    is_spread = parameter.required and parameter.explode and not parameter.allow_empty_value
    if not isinstance(schema, dict) or not parameter.style or not (is_segment or is_spread):
        return schema
    shape = types.shape_of(schema)
    if is_segment and shape.types == ("string",) and parameter.style != "matrix":
        bound = "minLength"
    elif shape.types == ("array",) and parameter.location in ("path", "query", "cookie"):
        bound = "minItems"
    else:
        return schema
    says_so = {"enum", "pattern", "format"} & shape.keywords.keys()
    if says_so or shape.keywords.get(bound, 0) > 0:
        return schema
    return {**schema, bound: 1}


def is_sendable(item: MediaType, types: Types) -> bool:
    """Whether a body of this media type can be written; a form is made of an object's members."""
    kind = kind_of_body(item)
    if kind in (Kind.FORM, Kind.MULTIPART) and item.schema is not None:
        allowed = types.shape_of(item.schema).types
        return not allowed or "object" in allowed
    return kind is not Kind.UNSENDABLE


def takes_file(item: MediaType, types: Types) -> bool:
    """Whether the content of a file is a part of such a body, or all of it."""
    kind = kind_of_body(item)
    if kind is not Kind.MULTIPART or item.schema is None:
        return kind is Kind.BINARY
    members = types.shape_of(item.schema).keywords.get("properties", {})
    return any(
        _is_file(member, types) or _is_binary_type(item.encoding.get(name))
        for name, member in members.items()
    )


def _is_file(schema: JsonSchema, types: Types) -> bool:
    keywords = types.shape_of(schema).keywords
    if "items" in keywords:
        keywords = types.shape_of(keywords["items"]).keywords
    is_encoded = "contentEncoding" in keywords
    return keywords.get("format") == "binary" or (
        not is_encoded and kind_of(keywords.get("contentMediaType") or "text/plain") is Kind.BINARY
    )


def _is_binary_type(encoding: Encoding | None) -> bool:
    told = encoding.content_type.split(",") if encoding is not None else []
    return bool(told) and all(kind_of(name) is Kind.BINARY for name in told if "*" not in name)


def selectable(operation: Operation, types: Types) -> tuple[MediaType, ...]:
    """The media types in which the body can be sent, the default first.

    JSON comes first, then other JSON formats, forms, multipart, lines of JSON, XML, text, bytes; a
    form comes after multipart where it would carry files. A range like `*/*` is sent as JSON.
    """
    body = operation.request_body
    if body is None:
        return ()
    spelled: dict[str, MediaType] = {}
    for item in ranked(body.content):
        if is_sendable(item, types):
            name = spelled_for_sending(item.media_type)
            spelled.setdefault(name, replace(item, media_type=name))
    return tuple(spelled.values())


def _body(operation: Operation, types: Types, hint: str) -> list[Listed]:
    body = operation.request_body
    if body is None:
        return []
    media_types = selectable(operation, types)
    if not media_types:
        offered = ", ".join(f"`{item.media_type}`" for item in ranked(body.content))
        raise OperationRefusedError(
            "body-media-type",
            f"its body is {offered}, which generated servers cannot write",
            body.at,
            "name a media type that a request can have; a form needs a schema of type object",
        )
    schemas: list[JsonSchema] = []
    for item in media_types:
        schema = body_schema(item)
        if schema not in schemas:
            schemas.append(schema)
    structured = [body_schema(item) for item in media_types if kind_of_body(item) in STRUCTURED]
    shown = [schema for schema in schemas if not structured or schema in structured]
    whole = _one_of(schemas)
    argument = Argument(
        name=BODY,
        identifier=identifier(BODY),
        location="body",
        wire_name="",
        required=body.required,
        annotation=types.of(whole, "request", f"{hint}Body").annotation,
        schema=whole,
    )
    listed = _described(_one_of(shown), body.description, is_deprecated=False)
    found = [Listed(argument, listed, says_less=len(shown) < len(schemas))]
    if len(media_types) > 1:
        found.append(_content_type(media_types))
    return found


def _one_of(schemas: list[JsonSchema]) -> JsonSchema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def body_schema(item: MediaType) -> JsonSchema:
    """The value that a body of this media type is made from."""
    kind = kind_of_body(item)
    if kind is Kind.TEXT:
        return {"type": "string", "description": f"Text of type `{item.media_type}`."}
    if kind is Kind.BINARY:
        return {"type": "string", "description": FILE_IN_WORDS}
    if kind is Kind.LINES:
        line = item.item_schema if item.item_schema is not None else item.schema
        is_list = isinstance(line, dict) and line.get("type") == "array"
        return line if is_list and line is not None else {"type": "array", "items": line or {}}
    if kind in (Kind.FORM, Kind.MULTIPART):
        return item.schema if isinstance(item.schema, dict) and item.schema else {"type": "object"}
    return True if item.schema is None else item.schema


def _content_type(media_types: tuple[MediaType, ...]) -> Listed:
    names = [item.media_type for item in media_types]
    schema: JsonObject = {"type": "string", "enum": names}
    argument = Argument(
        name=CONTENT_TYPE,
        identifier=identifier(CONTENT_TYPE),
        location="content_type",
        wire_name="",
        required=False,
        annotation=Annotation("str"),
        schema=schema,
    )
    strings = [
        f"`{item.media_type}`" for item in media_types if kind_of_body(item) not in STRUCTURED
    ]
    told = f"How the body is sent; `{names[0]}` unless told otherwise."
    if strings and len(strings) < len(names):
        told += f" For {', '.join(strings)} the body is one string."
    return Listed(argument, {**schema, "description": told})


def _described(schema: JsonSchema, description: str, is_deprecated: bool) -> JsonSchema:
    """`schema` with what its user says about it."""
    if not (description or is_deprecated):
        return schema
    about: JsonObject = {"description": description} if description else {}
    if is_deprecated:
        about["deprecated"] = True
    if not isinstance(schema, dict):
        return about if schema else {"not": {}, **about}
    return {**schema, **about}

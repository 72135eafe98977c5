"""The arguments of a tool: parameters and body, named, typed and described."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Declared, MediaType, Operation, Parameter
from mcpgen.ir.json_types import JsonObject, JsonSchema
from mcpgen.ir.tool_plan import Annotation, Argument
from mcpgen.plan.adjusting import Adjusted, with_optional_members
from mcpgen.plan.descriptions import with_wire_name
from mcpgen.plan.input_profile import FILE_IN_WORDS
from mcpgen.plan.media_types import (
    STRUCTURED,
    Kind,
    base_type,
    is_patch,
    is_range,
    kind_of_body,
    ranked,
    spelled_for_sending,
)
from mcpgen.plan.naming import argument_names, identifier, pascal_case
from mcpgen.plan.parts import is_binary_type, is_file, root_part
from mcpgen.plan.transliteration import is_latin
from mcpgen.plan.types import Types
from mcpgen.plan.wiring import INPUT, ShapeOf, placed_inputs

BODY, CONTENT_TYPE = "body", "content_type"
RELATED = "multipart/related"


class Listed(Struct, frozen=True):
    """An argument and its schema as it is described to clients."""

    argument: Argument
    schema: JsonSchema
    says_less: bool = False  # than `argument.schema`, which is then checked


def plan_arguments(adjusted: Adjusted, types: Types, hint: str) -> tuple[Listed, ...]:
    """What a call of an operation takes: required arguments first, each in its own order.

    Raises:
        OperationRefusedError: a body that the runtime cannot write is required.
    """
    operation = adjusted.offered
    names = argument_names(
        [(parameter.location, parameter.name) for parameter in adjusted.sent.parameters],
        operation.published_arguments,
    ) | dict(adjusted.names)
    listed = [
        _parameter(parameter, names[parameter.location, parameter.name], types, hint)
        for parameter in operation.parameters
    ]
    if operation.declared is None:
        listed += _body(adjusted, types, hint)
    else:
        listed += _placed(operation, operation.declared, types, hint)
    return tuple(
        sorted(
            (_with_default(item, adjusted) for item in listed),
            key=lambda item: not item.argument.required,
        )
    )


def _with_default(listed: Listed, adjusted: Adjusted) -> Listed:
    argument = listed.argument
    default = adjusted.defaults.get((argument.location, argument.wire_name), UNSET)
    return replace(listed, argument=replace(argument, default=default))


def _parameter(parameter: Parameter, name: str, types: Types, hint: str) -> Listed:
    whole = _never_empty(parameter, types)
    told = parameter.description
    if not is_latin(parameter.name):
        told = with_wire_name(told or _own_description(whole), parameter.name)
    schema = _described(whole, told, parameter.deprecated)
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


def _own_description(schema: JsonSchema) -> str:
    return schema.get("description") or "" if isinstance(schema, dict) else ""


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


def why_unsendable(item: MediaType, types: Types) -> str:
    """Why a body of this media type cannot be written; "" where it can.

    The parts of `multipart/form-data` are an object's members, and those of another multipart
    type are a list's items, or members where it is known that parts have names (OpenAPI 3.2.0,
    "Encoding By Name" and "Encoding By Position") or which of them comes first.
    """
    name, kind = base_type(item.media_type), kind_of_body(item)
    if kind is Kind.UNSENDABLE:
        return "that is no media type that a request can have"
    if kind not in (Kind.FORM, Kind.MULTIPART) or item.item_schema is not None:
        return ""
    allowed = () if item.schema is None else types.shape_of(item.schema).types
    if kind is Kind.FORM or name == "multipart/form-data":
        return "" if not allowed or "object" in allowed else "a form is made of an object's members"
    if "array" in allowed:
        return ""
    if "object" not in allowed:
        return "no schema says what its parts are"
    if name == "multipart/mixed" or (name == RELATED and root_part(item, types)):
        return ""
    return "its parts are known by their order, and an object's members have none"


def takes_file(item: MediaType, types: Types) -> bool:
    """Whether the content of a file is a part of such a body, or all of it."""
    kind = kind_of_body(item)
    if kind is not Kind.MULTIPART:
        return kind is Kind.BINARY
    keywords = types.shape_of(body_schema(item, types.shape_of)).keywords
    positional = [*keywords.get("prefixItems", ()), keywords.get("items", True)]
    encodings = [*item.encoding.values(), *item.prefix_encoding, item.item_encoding]
    return any(map(is_binary_type, encodings)) or any(
        is_file(member, types) for member in (*keywords.get("properties", {}).values(), *positional)
    )


def selectable(operation: Operation, types: Types) -> tuple[MediaType, ...]:
    """The media types between which a caller can choose, the default first: one for each data.

    JSON comes first, then other JSON formats, forms, multipart, lines of JSON, XML, text, bytes; a
    form comes after multipart where it would carry files. A range like `*/*` is sent as JSON where
    its schema says more than that it is a string.
    """
    body = operation.request_body
    if body is None:
        return ()
    spelled: dict[str, MediaType] = {}
    for item in ranked(body.content):
        if not why_unsendable(item, types):
            name = spelled_for_sending(item)
            schema = item.schema
            if item.item_schema is not None:
                schema = body_schema(item, types.shape_of)
            root = root_part(item, types) if base_type(name) == RELATED else ""
            spelled.setdefault(name, replace(item, media_type=name, schema=schema, root_part=root))
    return tuple(_one_for_each_data(spelled.values(), types))


def _one_for_each_data(media_types: Iterable[MediaType], types: Types) -> list[MediaType]:
    """Pick the first media type of those that describe the same data, or the one with files."""
    picked: list[MediaType] = []
    for item in media_types:
        same = next((it for it in picked if _describe_same_data(it, item, types)), None)
        if same is None:
            picked.append(item)
        elif kind_of_body(item) is Kind.MULTIPART and takes_file(item, types):
            picked[picked.index(same)] = item
    return picked


def _describe_same_data(first: MediaType, other: MediaType, types: Types) -> bool:
    """Whether the media type alone tells two bodies apart, of which `first` is the handier."""
    kinds = kind_of_body(first), kind_of_body(other)
    if kinds[0] not in STRUCTURED:
        return False  # the media type says what a text, or a file, is
    if is_patch(first.media_type) and is_patch(other.media_type):
        return False
    if _encoding_makes_files(other, types):
        return False
    if kinds[1] in STRUCTURED:
        return body_schema(first, types.shape_of) == body_schema(other, types.shape_of)
    if other.schema is None or other.schema != first.schema:
        return False
    # Of what is written in a text, a schema of a string says nothing, but for plain text.
    is_plain = base_type(other.media_type) == "text/plain"
    return is_plain or "string" not in types.shape_of(other.schema).types


def _encoding_makes_files(item: MediaType, types: Types) -> bool:
    """Whether members that the schema calls texts are files, by their Encoding Objects alone."""
    by_schema = replace(item, encoding={}, prefix_encoding=(), item_encoding=None)
    return takes_file(item, types) and not takes_file(by_schema, types)


def _body(adjusted: Adjusted, types: Types, hint: str) -> list[Listed]:
    operation = adjusted.offered
    body = operation.request_body
    if body is None:
        return []
    media_types = selectable(operation, types)
    if not media_types:
        offered = "; ".join(
            f"`{item.media_type}`: {why_unsendable(item, types)}" for item in ranked(body.content)
        )
        raise OperationRefusedError(
            "body-media-type",
            f"its body cannot be written ({offered})",
            body.at,
            "a form needs a schema of type object, and other parts a list of them, in `schema` or"
            " `itemSchema`; `multipart/related` takes an object of one file, or of several"
            " with a `Content-ID` each, and of what they belong to, which is required and JSON",
        )
    schemas: list[JsonSchema] = []
    structured: list[JsonSchema] = []
    for item in media_types:
        schema = body_schema(item, types.shape_of)
        if schema not in schemas:
            schemas.append(schema)
        if kind_of_body(item) in STRUCTURED:
            structured.append(schema)
    # The handler gets a body whose defaults are filled in, so its type still requires them.
    annotation = types.of(_one_of(schemas), "request", f"{hint}Body").annotation
    schemas, structured = (
        [with_optional_members(schema, adjusted.members, types.shape_of) for schema in found]
        for found in (schemas, structured)
    )
    shown = [schema for schema in schemas if not structured or schema in structured]
    whole = _one_of(schemas)
    argument = Argument(
        name=BODY,
        identifier=identifier(BODY),
        location="body",
        wire_name="",
        required=body.required,
        annotation=annotation,
        schema=whole,
    )
    listed = _described(_one_of(shown), body.description, is_deprecated=False)
    found = [Listed(argument, listed, says_less=len(shown) < len(schemas))]
    if len(media_types) > 1 or is_range(media_types[0].media_type):
        found.append(_content_type(media_types))
    return found


def _placed(operation: Operation, declared: Declared, types: Types, hint: str) -> Iterator[Listed]:
    """The inputs of a declared tool that its body is composed of."""
    for name, schema in placed_inputs(operation, types.shape_of):
        argument = Argument(
            name=name,
            identifier=identifier(name),
            location=INPUT,
            wire_name=name,
            required=name in declared.required,
            annotation=types.of(schema, "request", hint + pascal_case(name)).annotation,
            schema=schema,
        )
        yield Listed(argument, schema)


def _one_of(schemas: list[JsonSchema]) -> JsonSchema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def body_schema(item: MediaType, shape_of: ShapeOf) -> JsonSchema:
    """The value that a body of this media type is made from."""
    kind = kind_of_body(item)
    if kind is Kind.TEXT:
        description = f"Text of type `{item.media_type}`."
        return {
            "type": "string",
            **_said_of_text(item.schema, shape_of),
            "description": description,
        }
    if kind is Kind.BINARY:
        return {"type": "string", "description": FILE_IN_WORDS}
    if kind is Kind.LINES:
        line = item.item_schema if item.item_schema is not None else item.schema
        is_list = isinstance(line, dict) and line.get("type") == "array"
        return line if is_list and line is not None else {"type": "array", "items": line or {}}
    if kind is Kind.MULTIPART and item.item_schema is not None and not _says_items(item.schema):
        return {"type": "array", "items": item.item_schema}
    if kind in (Kind.FORM, Kind.MULTIPART):
        return item.schema if isinstance(item.schema, dict) and item.schema else {"type": "object"}
    return True if item.schema is None else item.schema


def _said_of_text(schema: JsonSchema | None, shape_of: ShapeOf) -> JsonObject:
    """What a schema says of a text; one that speaks of objects describes what is written in it."""
    shape = shape_of({} if schema is None else schema)
    if "string" not in shape.types:
        return {}
    return {keyword: shape.keywords[keyword] for keyword in _OF_TEXTS if keyword in shape.keywords}


_OF_TEXTS = ("enum", "examples", "maxLength", "minLength", "pattern")


def _says_items(schema: JsonSchema | None) -> bool:
    return isinstance(schema, dict) and bool({"items", "prefixItems"} & schema.keys())


def _content_type(media_types: tuple[MediaType, ...]) -> Listed:
    names = [item.media_type for item in media_types]
    schema: JsonObject = {"type": "string", "enum": names}
    if any(map(is_range, names)):
        schema = {"type": "string", "pattern": f"^({'|'.join(map(_pattern_of, names))})$"}
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
    told = f"How the body is sent; {_default_type(names[0])} unless told otherwise."
    if strings and len(strings) < len(names):
        told += f" For {', '.join(strings)} the body is one string."
    return Listed(argument, {**schema, "description": told})


_IN_PATTERNS = re.compile(r"[.+*?^${}()|\[\]\\]")
_WORD = "[A-Za-z0-9!#$&^_.+-]+"


def _pattern_of(media_type: str) -> str:
    """What matches a media type, or every one within a range."""
    if not is_range(media_type):
        return _IN_PATTERNS.sub(r"\\\g<0>", media_type)
    parts = base_type(media_type).split("*")
    return _WORD.join(_IN_PATTERNS.sub(r"\\\g<0>", part) for part in parts)


def _default_type(media_type: str) -> str:
    """What a body is sent as where the caller does not say."""
    kind = base_type(media_type)
    if kind == "text/*":
        return "`text/plain`"
    if not is_range(kind):
        return f"`{media_type}`"
    told = f"what its `data:` URI says within `{kind}`"
    return (
        told if kind not in ("*/*", "application/*") else f"{told}, or `application/octet-stream`,"
    )


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

"""The arguments of a tool: parameters and body, named, typed and described."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import DeclaredRequest, MediaType, Operation, Parameter
from mcpgen.ir.tool_plan import Annotation, Argument
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.arguments.input_refs import INPUT, ShapeOf, iterate_inputs
from mcpgen.plan.arguments.media_types import (
    STRUCTURED,
    Kind,
    choose_content_type,
    classify_body,
    is_binary_type,
    is_file,
    is_patch,
    is_range,
    rank_media_types,
    root_part,
)
from mcpgen.plan.arguments.overrides import (
    OverriddenOperation,
    make_members_optional,
    name_arguments,
)
from mcpgen.plan.naming.names import to_class_name, to_identifier
from mcpgen.plan.naming.words import is_latin
from mcpgen.plan.schemas.input_profile import FILE_IN_WORDS
from mcpgen.plan.schemas.types import Types
from mcpgen.plan.tools.descriptions import prefix_wire_name
from mcpgen.text.media_types import essence_of
from mcpgen.text.prose import end_sentence

BODY, CONTENT_TYPE = "body", "content_type"
RELATED = "multipart/related"


class ListedArgument(Struct, frozen=True):
    """An argument, and its schema in the listing."""

    argument: Argument
    schema: JsonSchema
    is_simplified: bool = False  # if so, arguments are validated by `argument.schema`


class ParameterSchemas:
    """The schemas of parameters, built once for all operations that share one."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._known: dict[int, tuple[Parameter, _ParameterSchema]] = {}  # by identity

    def of(self, parameter: Parameter) -> _ParameterSchema:
        """Return the schemas of a parameter."""
        found = self._known.get(id(parameter))
        if found is None:
            found = self._known[id(parameter)] = (parameter, self._build(parameter))
        return found[1]

    def _build(self, parameter: Parameter) -> _ParameterSchema:
        whole = _forbid_empty(parameter, self._types)
        annotation = None
        if not self._types.shape_of(parameter.schema).can_nest:
            annotation = self._types.of(parameter.schema, "request", "").annotation
        return _ParameterSchema(whole, _list_parameter(parameter, whole), annotation)


class _ParameterSchema(Struct, frozen=True):
    whole: JsonSchema  # validates the argument
    listed: JsonSchema
    annotation: Annotation | None  # None if a class in it is named after the operation


def _list_parameter(parameter: Parameter, whole: JsonSchema) -> JsonSchema:
    """Return the schema of a parameter with its description and examples."""
    description = parameter.description
    if not is_latin(parameter.name):
        stated = whole.get("description") or "" if isinstance(whole, dict) else ""
        description = prefix_wire_name(description or stated, parameter.name)
    listed = _describe_schema(whole, description, parameter.deprecated)
    if parameter.examples and isinstance(listed, dict):
        listed = {**listed, "examples": list(parameter.examples)}
    return listed


def plan_arguments(
    adjusted: OverriddenOperation, types: Types, parameters: ParameterSchemas, hint: str
) -> tuple[ListedArgument, ...]:
    """Plan the arguments of an operation, required ones first.

    Raises:
        OperationRefusedError: the operation has a body that the runtime cannot write.
    """
    operation = adjusted.offered
    names = name_arguments(adjusted.sent) | dict(adjusted.names)
    listed = [
        _plan_parameter(it, parameters.of(it), names[it.wire_place], types, hint)
        for it in operation.parameters
    ]
    if operation.declared is None:
        listed += _plan_body(adjusted, types, hint)
    else:
        listed += _plan_inputs(operation, operation.declared, types, hint)
    planned = (_with_default(item, adjusted) for item in listed)
    return tuple(sorted(planned, key=lambda item: not item.argument.required))


def _with_default(listed: ListedArgument, adjusted: OverriddenOperation) -> ListedArgument:
    argument = listed.argument
    default = adjusted.defaults.get((argument.location, argument.wire_name), UNSET)
    if default is UNSET:
        return listed
    return replace(listed, argument=replace(argument, default=default))


def _plan_parameter(
    parameter: Parameter, schema: _ParameterSchema, name: str, types: Types, hint: str
) -> ListedArgument:
    annotation = schema.annotation
    if annotation is None:
        annotation = types.of(parameter.schema, "request", hint + to_class_name(name)).annotation
    argument = Argument(
        name,
        to_identifier(name),
        *parameter.wire_place,
        parameter.required,
        annotation,
        schema.whole,
    )
    return ListedArgument(argument, schema.listed)


def _forbid_empty(parameter: Parameter, types: Types) -> JsonSchema:
    """Return the schema of a parameter, without empty values if they are unsendable.

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
    constraints = {"enum", "pattern", "format"} & shape.keywords.keys()
    if constraints or shape.keywords.get(bound, 0) > 0:
        return schema
    return {**schema, bound: 1}


def explain_unsendable(item: MediaType, types: Types) -> str:
    """Explain why a body of this media type cannot be written; "" if it can.

    The parts of `multipart/form-data` are an object's members, and those of another multipart
    type are a list's items, or members if it is known that parts have names (OpenAPI 3.2.0,
    "Encoding By Name" and "Encoding By Position") or which of them comes first.
    """
    name, kind = essence_of(item.media_type), classify_body(item)
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
    """Check whether a body is a file or contains one."""
    kind = classify_body(item)
    if kind is not Kind.MULTIPART:
        return kind is Kind.BINARY
    keywords = types.shape_of(body_schema(item, types.shape_of)).keywords
    positional = [*keywords.get("prefixItems", ()), keywords.get("items", True)]
    encodings = [*item.encoding.values(), *item.prefix_encoding, item.item_encoding]
    return any(map(is_binary_type, encodings)) or any(
        is_file(member, types.shape_of)
        for member in (*keywords.get("properties", {}).values(), *positional)
    )


def select_media_types(operation: Operation, types: Types) -> tuple[MediaType, ...]:
    """Return the media types that a caller can choose, the default first, without equivalent ones.

    The order is JSON, other JSON formats, forms, multipart, JSON Lines, XML, text, bytes; a form
    with files comes after multipart. A range such as `*/*` is sent as JSON unless its schema is
    absent or a string.
    """
    by_name: dict[str, MediaType] = {}
    for item in rank_media_types(operation.body_content):
        if not explain_unsendable(item, types):
            name = choose_content_type(item)
            schema = item.schema
            if item.item_schema is not None:
                schema = body_schema(item, types.shape_of)
            root = root_part(item, types) if essence_of(name) == RELATED else ""
            by_name.setdefault(name, replace(item, media_type=name, schema=schema, root_part=root))
    return tuple(_drop_equivalent(by_name.values(), types))


def _drop_equivalent(media_types: Iterable[MediaType], types: Types) -> list[MediaType]:
    """Select the first of media types with equal data, or the multipart one with files."""
    picked: list[MediaType] = []
    for item in media_types:
        same = next((it for it in picked if _describe_same_data(it, item, types)), None)
        if same is None:
            picked.append(item)
        elif classify_body(item) is Kind.MULTIPART and takes_file(item, types):
            picked[picked.index(same)] = item
    return picked


def _describe_same_data(first: MediaType, other: MediaType, types: Types) -> bool:
    """Check whether two bodies differ in their media type only; `first` is the preferred one."""
    kinds = classify_body(first), classify_body(other)
    if kinds[0] not in STRUCTURED:
        return False  # the media type defines the form of a text or a file
    if is_patch(first.media_type) and is_patch(other.media_type):
        return False
    if _has_files_by_encoding_only(other, types):
        return False
    if kinds[1] in STRUCTURED:
        return body_schema(first, types.shape_of) == body_schema(other, types.shape_of)
    if other.schema is None or other.schema != first.schema:
        return False
    # The schema of a string does not describe the content of a text, except of plain text.
    is_plain = essence_of(other.media_type) == "text/plain"
    return is_plain or "string" not in types.shape_of(other.schema).types


def _has_files_by_encoding_only(item: MediaType, types: Types) -> bool:
    """Check whether only Encoding Objects, and not the schema, make members files."""
    by_schema = replace(item, encoding={}, prefix_encoding=(), item_encoding=None)
    return takes_file(item, types) and not takes_file(by_schema, types)


def _plan_body(adjusted: OverriddenOperation, types: Types, hint: str) -> list[ListedArgument]:
    operation = adjusted.offered
    body = operation.request_body
    if body is None:
        return []
    media_types = select_media_types(operation, types)
    if not media_types:
        offered = "; ".join(
            f"`{item.media_type}`: {explain_unsendable(item, types)}"
            for item in rank_media_types(body.content)
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
        if classify_body(item) in STRUCTURED:
            structured.append(schema)
    # The handler gets a body whose defaults are filled in, so its type still requires them.
    annotation = types.of(_join_schemas(schemas), "request", f"{hint}Body").annotation
    schemas, structured = (
        [make_members_optional(schema, adjusted.members, types.shape_of) for schema in found]
        for found in (schemas, structured)
    )
    shown = [schema for schema in schemas if not structured or schema in structured]
    whole = _join_schemas(schemas)
    argument = Argument(BODY, to_identifier(BODY), "body", "", body.required, annotation, whole)
    description = body.description
    if description and shown == [_FILE]:
        description = f"{end_sentence(description)} {FILE_IN_WORDS}"
    listed = _describe_schema(_join_schemas(shown), description, is_deprecated=False)
    found = [ListedArgument(argument, listed, is_simplified=len(shown) < len(schemas))]
    if len(media_types) > 1 or is_range(media_types[0].media_type):
        found.append(_plan_content_type(media_types))
    return found


def _plan_inputs(
    operation: Operation, declared: DeclaredRequest, types: Types, hint: str
) -> Iterator[ListedArgument]:
    """Yield the inputs of a declared tool from which its body is composed."""
    for name, schema in iterate_inputs(operation, types.shape_of):
        annotation = types.of(schema, "request", hint + to_class_name(name)).annotation
        required = name in declared.required
        argument = Argument(name, to_identifier(name), INPUT, name, required, annotation, schema)
        yield ListedArgument(argument, schema)


def _join_schemas(schemas: list[JsonSchema]) -> JsonSchema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def body_schema(item: MediaType, shape_of: ShapeOf) -> JsonSchema:
    """Return the schema of the value from which a body of this media type is written."""
    kind = classify_body(item)
    if kind is Kind.TEXT:
        keywords = _select_text_keywords(item.schema, shape_of)
        return {"type": "string", **keywords, "description": f"Text of type `{item.media_type}`."}
    if kind is Kind.BINARY:
        return _FILE
    if kind is Kind.LINES:
        line = item.item_schema if item.item_schema is not None else item.schema
        is_list = isinstance(line, dict) and line.get("type") == "array"
        return line if is_list and line is not None else {"type": "array", "items": line or {}}
    if kind is Kind.MULTIPART and item.item_schema is not None and not _declares_items(item.schema):
        return {"type": "array", "items": item.item_schema}
    if kind in (Kind.FORM, Kind.MULTIPART):
        return item.schema if isinstance(item.schema, dict) and item.schema else {"type": "object"}
    return True if item.schema is None else item.schema


def _select_text_keywords(schema: JsonSchema | None, shape_of: ShapeOf) -> JsonObject:
    """Return the keywords of a schema for a text; none if it describes other types."""
    shape = shape_of({} if schema is None else schema)
    if "string" not in shape.types:
        return {}
    return {keyword: shape.keywords[keyword] for keyword in _OF_TEXTS if keyword in shape.keywords}


_FILE: JsonObject = {"type": "string", "description": FILE_IN_WORDS}
_OF_TEXTS = ("enum", "examples", "maxLength", "minLength", "pattern")


def _declares_items(schema: JsonSchema | None) -> bool:
    return isinstance(schema, dict) and bool({"items", "prefixItems"} & schema.keys())


def _plan_content_type(media_types: tuple[MediaType, ...]) -> ListedArgument:
    names = [item.media_type for item in media_types]
    schema: JsonObject = {"type": "string", "enum": names}
    if any(map(is_range, names)):
        schema = {"type": "string", "pattern": f"^({'|'.join(map(_build_pattern, names))})$"}
    argument = Argument(
        name=CONTENT_TYPE,
        identifier=to_identifier(CONTENT_TYPE),
        location="content_type",
        wire_name="",
        required=False,
        annotation=Annotation("str"),
        schema=schema,
    )
    unstructured = (item for item in media_types if classify_body(item) not in STRUCTURED)
    strings = [f"`{item.media_type}`" for item in unstructured]
    description = f"How the body is sent; {_choose_default_type(names[0])} unless told otherwise."
    if strings and len(strings) < len(names):
        description += f" For {', '.join(strings)} the body is one string."
    return ListedArgument(argument, {**schema, "description": description})


_IN_PATTERNS = re.compile(r"[.+*?^${}()|\[\]\\]")
_WORD = "[A-Za-z0-9!#$&^_.+-]+"


def _build_pattern(media_type: str) -> str:
    """Return a regular expression for a media type, or for all in a range."""
    parts = essence_of(media_type).split("*") if is_range(media_type) else [media_type]
    return _WORD.join(_IN_PATTERNS.sub(r"\\\g<0>", part) for part in parts)


def _choose_default_type(media_type: str) -> str:
    """Describe the default content type of a body."""
    kind = essence_of(media_type)
    if kind == "text/*":
        return "`text/plain`"
    if not is_range(kind):
        return f"`{media_type}`"
    text = f"what its `data:` URI says within `{kind}`"
    return (
        text if kind not in ("*/*", "application/*") else f"{text}, or `application/octet-stream`,"
    )


def _describe_schema(schema: JsonSchema, description: str, is_deprecated: bool) -> JsonSchema:
    """Add a description and `deprecated` to a schema."""
    about: JsonObject = {"description": description} if description else {}
    if is_deprecated:
        about["deprecated"] = True
    if not about:
        return schema
    if not isinstance(schema, dict):
        return about if schema else {"not": {}, **about}
    return {**schema, **about}

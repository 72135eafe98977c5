"""Rules that map a tool's arguments to an HTTP request, as JSON for the generated package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.ir.api import (
    Encoding,
    MediaType,
    Operation,
    Parameter,
    SecurityRequirement,
    Server,
)
from mcpgen.ir.tool_plan import Argument, ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.render.upstream_file import as_json
from mcpgen.text.media_types import essence_of


def request_contract(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    """Give a tool's `request`: where each argument goes, and how it is spelled there."""
    operation = tool.operation
    argument_of = {(a.location, a.wire_name): a for a in tool.arguments}
    arguments = {place: argument.name for place, argument in argument_of.items()}
    spelled = [item for item in tool.fixed if not item.is_default_header]
    fixed = {(item.location, item.wire_name) for item in spelled}
    settings = {
        (item.location, item.wire_name): item.setting.name
        for item in spelled
        if item.setting is not None
    }
    request: JsonObject = {
        "method": operation.method,
        "path": operation.path,
        "parameters": [
            {
                **_travel(parameter),
                **omit_empty(
                    {"argument": arguments.get(place, ""), "setting": settings.get(place, "")}
                ),
            }
            for parameter in operation.parameters
            if (place := (parameter.location, parameter.name)) in arguments or place in fixed
        ],
        "accept": list(tool.accept),
    }
    if tool.also_answered:
        request["also_answered"] = list(tool.also_answered)
    request |= omit_empty(
        {
            "timeout_seconds": tool.policies.timeout_seconds,
            "attempts": tool.policies.attempts,
            "idempotency_header": tool.idempotency_header,
        }
    )
    body = argument_of.get(("body", ""))
    if body is not None:
        content_type = argument_of.get(("content_type", ""))
        request["body"] = _body(body, content_type, tool.body, plan.api.schemas)
        if any(location == "body" for location, _ in settings):
            request["body"]["is_composed"] = True  # a setting that is not set is left out
    elif operation.declared is not None and tool.body:
        request["body"] = _describe_composed_body(operation, tool.body, plan.api.schemas)
    if "body" in request and (members := _find_reserved_members(tool)):
        request["body"]["reserved"] = members
    read = {item.setting.name: item.setting.required for item in tool.fixed if item.setting}
    request |= omit_empty(
        {
            "needs_settings": sorted(name for name, is_needed in read.items() if is_needed),
            "uses_settings": sorted(name for name, is_needed in read.items() if not is_needed),
        }
    )
    if reserved := _find_reserved_names(plan, tool):
        request["reserved"] = reserved
    if tool.security:
        request["security"] = [_requirement(alternative) for alternative in tool.security]
    if operation.source:
        request["source"] = operation.source
    if operation.servers not in ((), plan.servers_of(operation.source)):
        request["servers"] = [server_object(server) for server in operation.servers]
    return request


def _find_reserved_members(tool: ToolPlan) -> list[str]:
    """Name the members of a body that no argument sets."""
    fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
    return sorted(fixed | {name for location, name in tool.hidden if location == "body"})


def _find_reserved_names(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    """Name hidden parameters and credentials where an exploded object could send them."""
    exploded = {
        "query" if parameter.location == "querystring" else parameter.location
        for parameter in tool.operation.parameters
        if (parameter.explode and parameter.style != "deepObject")
        or parameter.location == "querystring"
        if _may_be_object(parameter.schema, plan.api.schemas)
    }
    names = {place for place in tool.hidden if place[0] in exploded}
    source = tool.operation.source
    schemes = (scheme for scheme in plan.api.security_schemes if scheme.source == source)
    names |= {(it.location, it.name) for it in schemes if it.location in exploded}
    return {
        location: sorted(name for place, name in names if place == location)
        for location in sorted({place for place, _ in names})
    }


def _may_be_object(schema: JsonSchema, schemas: Mapping[str, JsonSchema], depth: int = 8) -> bool:
    """Whether an object could fit a schema, as far as `type` and references tell."""
    if not isinstance(schema, dict) or not depth:
        return schema is not False
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        return _may_be_object(schemas.get(name, True), schemas, depth - 1)
    if "type" in schema:
        kinds = schema["type"]
        return "object" in (kinds if isinstance(kinds, list) else [kinds])
    if "enum" in schema:
        return any(isinstance(value, dict) for value in schema["enum"])
    if "const" in schema:
        return isinstance(schema["const"], dict)
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return not branches or any(_may_be_object(it, schemas, depth - 1) for it in branches)


def _travel(parameter: Parameter) -> JsonObject:
    """Say how a parameter's value is serialised."""
    return {
        "in": parameter.location,
        "name": parameter.name,
        "style": parameter.style,
        "explode": parameter.explode,
    } | omit_empty(
        {
            "allow_reserved": parameter.allow_reserved,
            "allow_empty_value": parameter.allow_empty_value,
            "content_type": parameter.content_type,
        }
    )


def _body(
    argument: Argument,
    content_type: Argument | None,
    media_types: Iterable[MediaType],
    schemas: Mapping[str, JsonSchema],
) -> JsonObject:
    entry: JsonObject = {
        "argument": argument.name,
        "required": argument.required,
        "media_types": [_body_media_type(media_type, schemas) for media_type in media_types],
    }
    if content_type is not None:
        entry["content_type_argument"] = content_type.name
    return entry


def _describe_composed_body(
    operation: Operation, media_types: Iterable[MediaType], schemas: Mapping[str, JsonSchema]
) -> JsonObject:
    """Describe a body that the handler composes of several arguments."""
    return {
        "argument": "body",
        "required": operation.request_body is not None and operation.request_body.required,
        "media_types": [_body_media_type(media_type, schemas) for media_type in media_types],
        "is_composed": True,
    }


def _body_media_type(media_type: MediaType, schemas: Mapping[str, JsonSchema]) -> JsonObject:
    entry: JsonObject = {
        "media_type": media_type.media_type,
        "encoding": {
            name: _describe_encoding(value) for name, value in media_type.encoding.items()
        },
    }
    if media_type.prefix_encoding:
        entry["prefix_encoding"] = list(map(_describe_encoding, media_type.prefix_encoding))
    if media_type.item_encoding is not None:
        entry["item_encoding"] = _describe_encoding(media_type.item_encoding)
    if media_type.root_part:
        entry["root_part"] = media_type.root_part
    if _is_message_of_bytes(media_type):
        entry["is_binary"] = True
    if media_type.xml_root:
        entry["xml_root"] = media_type.xml_root
    if media_type.schema is not None and _serialiser_reads_schema(media_type):
        entry["schema"] = bundle(media_type.schema, schemas)
    return entry


def _is_message_of_bytes(media_type: MediaType) -> bool:
    schema = media_type.schema
    is_binary = isinstance(schema, dict) and schema.get("format") == "binary"
    return is_binary and media_type.media_type.lower().startswith("message/")


def _serialiser_reads_schema(media_type: MediaType) -> bool:
    kind = essence_of(media_type.media_type)
    return kind.startswith("multipart/") or bool(media_type.xml_root)


def bundle(schema: JsonSchema, schemas: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return `schema` with every schema that it reaches under `$defs`."""
    needed: dict[str, JsonSchema] = {}
    to_read = [schema]
    while to_read:
        for name in _names_referred_to(to_read.pop()):
            if name not in needed and name in schemas:
                needed[name] = schemas[name]
                to_read.append(schemas[name])
    if not needed or not isinstance(schema, dict):
        return schema
    return {**schema, "$defs": needed}


def _names_referred_to(schema: JsonValue) -> Iterable[str]:
    to_read: list[JsonValue] = [schema]
    while to_read:
        node = to_read.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                name = reference.removeprefix("#/$defs/")
                yield name.replace("~1", "/").replace("~0", "~")
            to_read.extend(node.values())
        elif isinstance(node, list | tuple):
            to_read.extend(node)


def _describe_encoding(encoding: Encoding) -> JsonObject:
    entry = omit_empty(
        {
            "content_type": encoding.content_type,
            "style": encoding.style,
            "allow_reserved": encoding.allow_reserved,
            "headers": [as_json(header) for header in encoding.headers],
        }
    )
    return entry if encoding.explode is None else {**entry, "explode": encoding.explode}


def server_object(server: Server) -> JsonObject:
    """Give a Server Object, in which the base URL of the API stands."""
    return {
        "url": server.url,
        "variables": {
            variable.name: omit_empty(
                {
                    "default": variable.default,
                    "enum": list(variable.enum),
                    "description": variable.description,
                }
            )
            for variable in server.variables
        },
    }


def _requirement(alternative: SecurityRequirement) -> JsonObject:
    return {use.scheme: list(use.scopes) for use in alternative}


def omit_empty(entry: JsonObject) -> JsonObject:
    """Omit the members that are empty, false or null."""
    return {
        key: value for key, value in entry.items() if value not in ("", None, False, [], {}, ())
    }

"""Rules that map a tool's arguments to an HTTP request, as JSON for the generated package."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.ir.api import Encoding, MediaType, Parameter, Server
from mcpgen.ir.tool_plan import Argument, ServerPlan, ToolPlan
from mcpgen.jsonschema.references import definition_name, find_reference, iterate_reachable
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.render.upstream_file import as_json
from mcpgen.text.media_types import essence_of


def request_contract(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    """Return a tool's `request`: the location and the serialization of each argument."""
    operation = tool.operation
    argument_of = {(a.location, a.wire_name): a for a in tool.arguments}
    arguments = {place: argument.name for place, argument in argument_of.items()}
    items = [item for item in tool.fixed if not item.is_default_header]
    fixed = {(item.location, item.wire_name) for item in items}
    settings = {
        (item.location, item.wire_name): item.setting.name
        for item in items
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
    body, content_type = argument_of.get(("body", "")), arguments.get(("content_type", ""), "")
    read = {item.setting.name: item.setting.required for item in tool.fixed if item.setting}
    request |= omit_empty(
        {
            "also_answered": list(tool.also_answered),
            "attempts": tool.policies.attempts,
            "body": _describe_body(tool, body, content_type, plan.api.schemas),
            "idempotency_header": tool.idempotency_header,
            "max_concurrent": tool.policies.max_concurrent,
            "needs_settings": sorted(name for name, is_needed in read.items() if is_needed),
            "reserved": _find_reserved_names(plan, tool),
            "security": [{use.scheme: list(use.scopes) for use in it} for it in tool.security],
            "source": operation.source,
            "timeout_seconds": tool.policies.timeout_seconds,
            "uses_settings": sorted(name for name, is_needed in read.items() if not is_needed),
        }
    )
    if operation.servers not in ((), plan.servers_of(operation.source)):
        request["servers"] = [server_object(server) for server in operation.servers]
    return request


def _find_reserved_members(tool: ToolPlan) -> list[str]:
    """Return the names of a body's members that no argument sets."""
    fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
    return sorted(fixed | {name for location, name in tool.hidden if location == "body"})


def _find_reserved_names(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    """Return the names of hidden parameters and credentials that an exploded object could set."""
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
    """Return whether an object could fit a schema, judged by types, values and references."""
    if not isinstance(schema, dict) or not depth:
        return schema is not False
    if isinstance(reference := schema.get("$ref"), str):
        return _may_be_object(schemas.get(definition_name(reference), True), schemas, depth - 1)
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
    """Return the serialization of a parameter."""
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


def _describe_body(
    tool: ToolPlan, body: Argument | None, content_type: str, schemas: Mapping[str, JsonSchema]
) -> JsonObject:
    """Describe the body with its two arguments; {} if there is none.

    A composed body consists of several arguments, or contains settings, which are omitted if unset.
    """
    if body is None and (tool.operation.declared is None or not tool.body):
        return {}
    described = tool.operation.request_body
    is_required = described is not None and described.required
    has_settings = any(item.location == "body" and item.setting for item in tool.fixed)
    return {
        "argument": "body" if body is None else body.name,
        "required": is_required if body is None else body.required,
        "media_types": [_body_media_type(media_type, schemas) for media_type in tool.body],
    } | omit_empty(
        {
            "content_type_argument": content_type,
            "is_composed": body is None or has_settings,
            "reserved": _find_reserved_members(tool),
        }
    )


def _body_media_type(media_type: MediaType, schemas: Mapping[str, JsonSchema]) -> JsonObject:
    entry: JsonObject = {
        "media_type": media_type.media_type,
        "encoding": {
            name: _describe_encoding(value) for name, value in media_type.encoding.items()
        },
    } | omit_empty(
        {
            "prefix_encoding": list(map(_describe_encoding, media_type.prefix_encoding)),
            "root_part": media_type.root_part,
            "is_binary": _is_message_of_bytes(media_type),
            "xml_root": media_type.xml_root,
        }
    )
    if media_type.item_encoding is not None:
        entry["item_encoding"] = _describe_encoding(media_type.item_encoding)
    is_multipart = essence_of(media_type.media_type).startswith("multipart/")
    if media_type.schema is not None and (is_multipart or media_type.xml_root):
        entry["schema"] = bundle(media_type.schema, schemas)  # for the serializer
    return entry


def _is_message_of_bytes(media_type: MediaType) -> bool:
    schema = media_type.schema
    is_binary = isinstance(schema, dict) and schema.get("format") == "binary"
    return is_binary and media_type.media_type.lower().startswith("message/")


def bundle(schema: JsonSchema, schemas: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return `schema` with all schemas that it references, directly or not, in `$defs`."""
    nodes = iterate_reachable([schema], schemas)
    needed = {name: schemas[name] for node in nodes if (name := find_reference(node)) in schemas}
    if not needed or not isinstance(schema, dict):
        return schema
    return {**schema, "$defs": needed}


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
    """Return the Server Object, which contains a base URL of the API."""
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


def omit_empty(entry: JsonObject) -> JsonObject:
    """Omit the members that are empty, false, zero or null."""
    return {key: value for key, value in entry.items() if value}

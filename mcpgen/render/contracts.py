"""The JSON files of a generated package, as data: what clients see, and how arguments travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import UNSET

from mcpgen.ir.api import (
    Api,
    Encoding,
    MediaType,
    Operation,
    Parameter,
    RequestBody,
    Response,
    SchemeUse,
    SecurityRequirement,
    SecurityScheme,
    Server,
    ServerVariable,
)
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.tool_plan import (
    Argument,
    DeclaredPlan,
    EnvironmentVariable,
    ServerPlan,
    Shaping,
    ToolGroupPlan,
    ToolPlan,
    WorkflowPlan,
    as_listed,
    source_prefix,
)
from mcpgen.ir.tool_search import IndexEntry, ToolSearch


def server_contract(plan: ServerPlan) -> JsonObject:
    """Give `_generated/contract.json`: about the server as a whole."""
    aliases = {alias: tool.name for tool in plan.tools for alias in tool.aliases}
    return {
        "name": plan.name,
        "title": plan.title,
        "description": plan.description,
        "instructions": plan.instructions,
        "env_prefix": plan.env_prefix,
        "servers": [_server(server) for server in plan.base_servers],
        "security_schemes": {
            scheme.id: _security_scheme(scheme) for scheme in plan.api.security_schemes
        },
        "environment": [_environment_variable(variable) for variable in plan.environment],
        "groups": [str(group.module) for group in plan.groups],
    } | _given(
        {
            "sources": _sources(plan),
            "aliases": aliases,
            "search": _search_names(plan),
            "workflows": bool(plan.workflows),
            "icons": list(plan.icons),
            "revisions": list(plan.revisions),
            "declares": bool(plan.resources or plan.prompts),
        }
    )


def declared_contract(declared: Iterable[DeclaredPlan]) -> list[JsonObject]:
    """Give `_generated/resources.json` or `prompts.json`."""
    return [
        {"listing": item.listing, **item.content, **_given({"values": dict(item.values)})}
        for item in declared
    ]


def _sources(plan: ServerPlan) -> JsonObject:
    return {
        source.name: {
            "env_prefix": source_prefix(plan.env_prefix, source.name),
            "servers": [_server(server) for server in source.servers],
        }
        for source in plan.api.sources
        if source.name
    }


def _search_names(plan: ServerPlan) -> JsonObject:
    """The names of the tools that search, describe and call the others, where there are such."""
    search = plan.search
    if search is None:
        return {}
    return {"search": search.search, "describe": search.describe, "call": search.call}


def toolsets(plan: ServerPlan) -> JsonObject:
    """Give `_generated/toolsets.json`: what can be listed by itself."""
    return {
        toolset.name: _given({"description": toolset.description}) | {"tools": list(toolset.tools)}
        for toolset in plan.toolsets
    }


def search_listing(plan: ServerPlan, search: ToolSearch) -> list[JsonObject]:
    """Give the Tool objects of `_generated/search_listing.jsonl`, by name."""
    also = [tool for tool in listing(plan) if tool["name"] in search.also_listed]
    return sorted([*search.tools, *also], key=lambda tool: tool["name"])


def search_index(entries: Iterable[IndexEntry]) -> list[JsonObject]:
    """Give the entries of `_generated/search_index.jsonl`."""
    return [msgspec.to_builtins(entry, str_keys=True) for entry in entries]


def listing(plan: ServerPlan) -> list[JsonObject]:
    """Give the Tool objects of `_generated/listing.jsonl`, by name."""
    tools: list[ToolPlan | WorkflowPlan] = [*plan.listed_tools, *plan.workflows]
    return [
        {"name": tool.name, **_listed(tool)} for tool in sorted(tools, key=lambda tool: tool.name)
    ]


def group_contract(plan: ServerPlan, group: ToolGroupPlan) -> JsonObject:
    """Give `_generated/tools/<module>.json`: the tools of one tag."""
    return {"tag": group.tag, "tools": {tool.name: _tool(plan, tool) for tool in group.tools}}


def workflows_contract(plan: ServerPlan) -> JsonObject:
    """Give `_generated/workflows.json`: the workflows, as the tools of one group."""
    return {
        "tag": "workflows",
        "tools": {workflow.name: _workflow(workflow) for workflow in plan.workflows},
    }


def upstream(api: Api) -> dict[str, JsonValue]:
    """Give `tests/generated/upstream.json`: the served operations, made from the API alone.

    It says nothing of what was planned, so that the mock upstream can judge the tools by it.
    """
    return {
        "servers": _as_json(api.servers),
        "schemas": dict(api.schemas),
        "security_schemes": _as_json(api.security_schemes),
        "operations": [_operation(operation) for operation in api.operations],
    }


def _operation(operation: Operation) -> JsonObject:
    entry: JsonObject = _as_json(operation)
    if operation.source:
        entry |= {"source": operation.source, "key": operation.key}
    return entry


def _tool(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    entry: JsonObject = {
        "operation": tool.operation.key,
        "listing": _listed(tool),
        "arguments": _keywords(tool.arguments),
        "result_key": tool.result_key,
        "request": _request(plan, tool),
    }
    if tool.pagination is not None:
        described = msgspec.structs.asdict(tool.pagination)
        del described["most"]  # the input schema says it
        entry["pagination"] = {
            "argument": "max_pages",
            **_given({**described, "cursor": list(tool.pagination.cursor)}),
        }
    if defaults := _defaults(tool.arguments):
        entry["defaults"] = defaults
    if tool.exposed_as != "tool":
        entry["exposed_as"] = tool.exposed_as
    if shaping := _shaping(tool.shaping):
        entry["shaping"] = shaping
    if tool.wire_names:
        entry["wire_names"] = dict(tool.wire_names)
    if tool.full_input_schema is not None:
        entry["input_schema"] = tool.full_input_schema
    return entry


def _shaping(shaping: Shaping) -> JsonObject:
    """Say what is done around a handler; nothing for most."""
    bounds = {"max_items": shaping.max_items, "max_bytes": shaping.max_bytes, "rest": shaping.rest}
    poll: JsonObject = {}
    if shaping.poll is not None:
        poll = {**msgspec.to_builtins(shaping.poll), "until": shaping.poll.until.split(".")}
    return _given(
        {
            "confirm": shaping.confirm,
            "poll": poll,
            "result": _given({"select": dict(shaping.select), **bounds}),
        }
    )


def _workflow(workflow: WorkflowPlan) -> JsonObject:
    entry: JsonObject = {
        "operation": workflow.key,
        "listing": _listed(workflow),
        "arguments": _keywords(workflow.arguments),
        "result_key": workflow.result_key,
        "steps": [{"id": step.id, "operation": step.operation} for step in workflow.steps],
    }
    if defaults := _defaults(workflow.arguments):
        entry["defaults"] = defaults
    return entry


def _keywords(arguments: Iterable[Argument]) -> JsonObject:
    """Give the handler's keyword for each argument."""
    return {argument.name: str(argument.identifier) for argument in arguments}


def _defaults(arguments: Iterable[Argument]) -> JsonObject:
    """Give what the handler gets of arguments that a call leaves out."""
    return {item.name: item.default for item in arguments if item.default is not UNSET}


def _listed(tool: ToolPlan | WorkflowPlan) -> JsonObject:
    return _given(as_listed(tool))


def _request(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    operation = tool.operation
    argument_of = {(a.location, a.wire_name): a for a in tool.arguments}
    arguments = {place: argument.name for place, argument in argument_of.items()}
    fixed = {(item.location, item.wire_name) for item in tool.fixed}
    request: JsonObject = {
        "method": operation.method,
        "path": operation.path,
        "parameters": [
            {**_travel(parameter), **_given({"argument": arguments.get(place, "")})}
            for parameter in operation.parameters
            if (place := (parameter.location, parameter.name)) in arguments or place in fixed
        ],
        "accept": list(tool.accept),
    }
    if tool.also_answered:
        request["also_answered"] = list(tool.also_answered)
    request |= _given(
        {"timeout_seconds": tool.shaping.timeout_seconds, "attempts": tool.shaping.attempts}
    )
    body = argument_of.get(("body", ""))
    if body is not None:
        content_type = argument_of.get(("content_type", ""))
        request["body"] = _body(body, content_type, tool.body, plan.api.schemas)
    elif operation.declared is not None and tool.body:
        request["body"] = _composed_body(operation, tool.body, plan.api.schemas)
    if tool.security:
        request["security"] = [_requirement(alternative) for alternative in tool.security]
    if operation.source:
        request["source"] = operation.source
    if operation.servers not in ((), plan.servers_of(operation.source)):
        request["servers"] = [_server(server) for server in operation.servers]
    return request


def _travel(parameter: Parameter) -> JsonObject:
    """Say how a parameter's value is serialised."""
    return {
        "in": parameter.location,
        "name": parameter.name,
        "style": parameter.style,
        "explode": parameter.explode,
    } | _given(
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


def _composed_body(
    operation: Operation, media_types: Iterable[MediaType], schemas: Mapping[str, JsonSchema]
) -> JsonObject:
    """Say how a body travels that the handler composes of several arguments."""
    return {
        "argument": "body",
        "required": operation.request_body is not None and operation.request_body.required,
        "media_types": [_body_media_type(media_type, schemas) for media_type in media_types],
        "is_composed": True,
    }


def _body_media_type(media_type: MediaType, schemas: Mapping[str, JsonSchema]) -> JsonObject:
    entry: JsonObject = {
        "media_type": media_type.media_type,
        "encoding": {name: _encoding(value) for name, value in media_type.encoding.items()},
    }
    if media_type.prefix_encoding:
        entry["prefix_encoding"] = list(map(_encoding, media_type.prefix_encoding))
    if media_type.item_encoding is not None:
        entry["item_encoding"] = _encoding(media_type.item_encoding)
    if media_type.root_part:
        entry["root_part"] = media_type.root_part
    if _is_message_of_bytes(media_type):
        entry["is_binary"] = True
    if media_type.xml_root:
        entry["xml_root"] = media_type.xml_root
    if media_type.schema is not None and _serialiser_reads_schema(media_type):
        entry["schema"] = bundled(media_type.schema, schemas)
    return entry


def _is_message_of_bytes(media_type: MediaType) -> bool:
    schema = media_type.schema
    is_binary = isinstance(schema, dict) and schema.get("format") == "binary"
    return is_binary and media_type.media_type.lower().startswith("message/")


def _serialiser_reads_schema(media_type: MediaType) -> bool:
    kind = media_type.media_type.partition(";")[0].strip().lower()
    return kind.startswith("multipart/") or bool(media_type.xml_root)


def bundled(schema: JsonSchema, schemas: Mapping[str, JsonSchema]) -> JsonSchema:
    """Give `schema` with every schema that it reaches under `$defs`."""
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


def _server(server: Server) -> JsonObject:
    return {
        "url": server.url,
        "variables": {
            variable.name: _given(
                {
                    "default": variable.default,
                    "enum": list(variable.enum),
                    "description": variable.description,
                }
            )
            for variable in server.variables
        },
    }


def _security_scheme(scheme: SecurityScheme) -> JsonObject:
    return _given(
        {
            "type": scheme.type,
            "in": scheme.location,
            "name": scheme.name,
            "scheme": scheme.http_scheme,
            "flows": dict(scheme.flows),
            "openid_connect_url": scheme.openid_connect_url,
            "source": scheme.source,
        }
    )


def _environment_variable(variable: EnvironmentVariable) -> JsonObject:
    return {
        "name": variable.name,
        "description": variable.description,
        "required": variable.required,
        "secret": variable.secret,
    } | _given({"scheme": variable.scheme, "part": variable.part, "example": variable.example})


def _requirement(alternative: SecurityRequirement) -> JsonObject:
    return {use.scheme: list(use.scopes) for use in alternative}


_NOT_FOR_THE_MOCK = frozenset(
    {
        "around",
        "at",
        "called",
        "declared",
        "deprecated",
        "description",
        "extensions",
        "operation_id",
        "root_part",
        "source",
        "summary",
        "tag",
        "tags",
        "xml_root",
    }
)


_FIELDS_FOR_THE_MOCK: Mapping[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind.__struct_fields__ if name not in _NOT_FOR_THE_MOCK)
    for kind in (
        Encoding,
        MediaType,
        Operation,
        Parameter,
        RequestBody,
        Response,
        SchemeUse,
        SecurityScheme,
        Server,
        ServerVariable,
    )
}


def _as_json(node: object) -> JsonValue:
    """Spell a node of the IR as JSON: its own field names, without places and prose."""
    names = _FIELDS_FOR_THE_MOCK.get(type(node))
    if names is not None:
        return {name: _as_json(getattr(node, name)) for name in names}
    if isinstance(node, str | int | None):  # most are
        return node
    if isinstance(node, tuple):
        return [_as_json(item) for item in node]
    if isinstance(node, Mapping) and any(
        type(item) in _FIELDS_FOR_THE_MOCK for item in node.values()
    ):
        return {key: _as_json(item) for key, item in node.items()}
    return node


def _encoding(encoding: Encoding) -> JsonObject:
    entry = _given(
        {
            "content_type": encoding.content_type,
            "style": encoding.style,
            "allow_reserved": encoding.allow_reserved,
            "headers": [_as_json(header) for header in encoding.headers],
        }
    )
    return entry if encoding.explode is None else {**entry, "explode": encoding.explode}


def _given(entry: JsonObject) -> JsonObject:
    """Leave out what the document is silent about."""
    return {
        key: value for key, value in entry.items() if value not in ("", None, False, [], {}, ())
    }

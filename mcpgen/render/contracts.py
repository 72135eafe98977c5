"""Rendering of the JSON files of a generated package: tool lists, contract and toolsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.ir.api import SecurityScheme
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.ir.tool_plan import (
    Argument,
    DeclaredPlan,
    EnvironmentVariable,
    JobCall,
    JobPlan,
    ResultPolicies,
    ServerPlan,
    ToolGroupPlan,
    ToolPlan,
    ToolSearch,
    ViewPlan,
    WorkflowPlan,
    build_list_entry,
    source_prefix,
)
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.render.request_contract import bundle, omit_empty, request_contract, server_object

if TYPE_CHECKING:  # the process that renders the tools makes no index
    from mcpgen.search.index import SearchIndex


def server_contract(plan: ServerPlan) -> JsonObject:
    """Return the content of `_generated/contract.json`: the contract of the server as a whole."""
    aliases = {alias: tool.name for tool in plan.tools for alias in tool.aliases}
    has_code = plan.search is not None and bool(plan.search.run)
    return {
        "name": plan.name,
        "title": plan.title,
        "description": plan.description,
        "instructions": plan.instructions,
        "env_prefix": plan.env_prefix,
        "servers": [server_object(server) for server in plan.base_servers],
        "security_schemes": {
            scheme.id: _security_scheme(scheme) for scheme in plan.api.security_schemes
        },
        "environment": [
            _environment_variable(variable, plan.api.schemas) for variable in plan.environment
        ],
        "groups": [str(group.module) for group in plan.groups],
    } | omit_empty(
        {
            "headers": _headers(plan, ""),
            "credential_origins": _credential_origins(plan, ""),
            "credentials": _credential_sources(plan),
            "sources": _sources(plan),
            "aliases": aliases,
            "search": _search_names(plan),
            "handles": {} if plan.handles is None else {"tool": plan.handles.tool},
            "code": msgspec.to_builtins(plan.code_bounds) if has_code else {},
            "workflows": bool(plan.workflows),
            "merged": bool(plan.merged),
            "icons": list(plan.icons),
            "revisions": list(plan.revisions),
            "limits": dict(plan.limits),
            "declares": bool(plan.resources or plan.prompts),
            "tasks": has_code or any(tool.policies.task for tool in plan.tools),
            "views": any(tool.view is not None for tool in plan.listed_tools),
            "extras": {extra: list(tools) for extra, tools in plan.extras.items()},
            "authorization": _authorization(plan),
            "skills": bool(plan.skills),
        }
    )


def _authorization(plan: ServerPlan) -> JsonObject:
    """Return the scopes that callers need, and the scopes that include others."""
    scopes = {tool: list(scopes) for tool, scopes in plan.scopes.items()}
    includes = {scope: list(narrower) for scope, narrower in plan.scope_includes.items()}
    return omit_empty({"scopes": scopes, "includes": includes}) if scopes else {}


def make_declared_contract(declared: Iterable[DeclaredPlan]) -> list[JsonObject]:
    """Return the content of `_generated/resources.json` or `prompts.json`."""
    return [
        {"listing": item.listing, **item.content, **omit_empty({"values": dict(item.values)})}
        for item in declared
    ]


def make_views_contract(plan: ServerPlan) -> JsonObject:
    """Return the content of `_generated/views.json`: the views of tools, by tool."""
    return {
        tool.name: _make_view(tool, tool.view)
        for tool in plan.listed_tools
        if tool.view is not None
    }


def _make_view(tool: ToolPlan, view: ViewPlan) -> JsonObject:
    """Return the content of a view; for a form, also the question that the server asks first."""
    columns = [omit_empty(msgspec.to_builtins(column)) for column in view.columns]
    return {"kind": view.kind} | omit_empty(
        {
            "items": list(view.items),
            "columns": columns,
            "image_origins": list(view.image_origins),
            "next_page": _next_page(tool) if view.items else {},
            "operation": tool.operation.key if view.kind == "form" else "",
            "confirm": tool.policies.confirm if view.kind == "form" else "",
        }
    )


def _next_page(tool: ToolPlan) -> JsonObject:
    """Return how a view requests the next page of a list; {} if it cannot.

    A view cannot continue after a page whose items the server cut, nor where pages are assumed.
    """
    pages, policies = tool.pagination, tool.policies
    names = {it.wire_name: it.name for it in tool.arguments if it.location == "query"}
    if pages is None or pages.parameter not in names:
        return {}
    if pages.is_assumed or pages.kind == "next" or (pages.kind == "offset" and pages.first):
        return {}
    if policies.max_items is not None or policies.max_bytes is not None:
        return {}
    return {"kind": pages.kind, "argument": names[pages.parameter]} | omit_empty(
        {"cursor": list(pages.cursor), "more": pages.more, "first": pages.first}
    )


def _sources(plan: ServerPlan) -> JsonObject:
    return {
        source.name: {
            "env_prefix": source_prefix(plan.env_prefix, source),
            "servers": [server_object(server) for server in source.servers],
            **omit_empty(
                {
                    "headers": _headers(plan, source.name),
                    "credential_origins": _credential_origins(plan, source.name),
                }
            ),
        }
        for source in plan.api.sources
        if source.name
    }


def _credential_sources(plan: ServerPlan) -> JsonObject:
    """Return the sources of credentials other than the environment, by security scheme."""
    return {
        scheme.id: omit_empty({"from": scheme.credential.from_, "header": scheme.credential.header})
        for scheme in plan.api.security_schemes
        if scheme.credential.from_ != "environment"
    }


def _credential_origins(plan: ServerPlan, source: str) -> JsonObject:
    """Return the origins other than the API's, and whether they may receive its credentials."""
    found = {it.origin: it.is_confirmed for it in plan.destinations if it.source == source}
    found |= dict.fromkeys(plan.credential_origins.get(source, ()), True)
    return dict(sorted(found.items()))


def _headers(plan: ServerPlan, source: str) -> JsonObject:
    """Return the default headers of one API, by name: a text, or the setting that supplies it."""
    return {
        header.wire_name: header.value
        if (setting := header.setting) is None
        else {"setting": setting.name, "required": setting.required}
        | ({} if setting.default is UNSET else {"default": setting.default})
        for header in plan.headers.get(source, ())
    }


def _search_names(plan: ServerPlan) -> JsonObject:
    """Return the names of the tools that search, describe, call and run others; {} without."""
    search = plan.search
    if search is None:
        return {}
    names = {"search": search.search, "describe": search.describe, "call": search.call}
    return names | ({"run": search.run} if search.run else {})


def toolsets(plan: ServerPlan) -> JsonObject:
    """Return the content of `_generated/toolsets.json`: the tools that can be listed separately."""
    return {
        toolset.name: omit_empty({"description": toolset.description})
        | {"tools": list(toolset.tools)}
        for toolset in plan.toolsets
    }


def search_listing(plan: ServerPlan, search: ToolSearch) -> list[JsonObject]:
    """Return the Tool objects of `_generated/search_listing.json`, by name."""
    names = {*search.also_listed, *([] if plan.handles is None else [plan.handles.tool])}
    also = [tool for tool in list_tools(plan) if tool["name"] in names]
    return sorted([*search.tools, *also], key=lambda tool: tool["name"])


def search_index(index: SearchIndex) -> list[JsonObject]:
    """Return the lines of `_generated/search_index.jsonl`."""
    return [msgspec.to_builtins(line, str_keys=True) for line in (index.lexicon, *index.entries)]


def list_tools(plan: ServerPlan) -> list[JsonObject]:
    """Return the Tool objects of `_generated/listing.json`, by name."""
    tools: list[ToolPlan | WorkflowPlan] = [*plan.listed_tools, *plan.workflows]
    listed = [{"name": tool.name, **omit_empty(build_list_entry(tool))} for tool in tools]
    if plan.handles is not None:
        listed.append(plan.handles.listed)
    return sorted(listed, key=lambda tool: tool["name"])


def group_contract(plan: ServerPlan, group: ToolGroupPlan) -> JsonObject:
    """Return the content of `_generated/tools/<module>.json`: the tools of one tag.

    The entry for clients is in `listing.json`; it is here only for operations that are no listed
    tool.
    """
    return {"tag": group.tag, "tools": {tool.name: _tool(plan, tool) for tool in group.tools}}


def workflows_contract(plan: ServerPlan) -> JsonObject:
    """Return the content of `_generated/workflows.json`: a group of tools."""
    return {
        "tag": "workflows",
        "tools": {workflow.name: _workflow(workflow) for workflow in plan.workflows},
    }


def make_merged_contract(plan: ServerPlan) -> JsonObject:
    """Return the content of `_generated/merged.json`: the tools behind each merged tool."""
    return {
        "tag": "merged",
        "tools": {
            tool.name: {
                "operation": tool.key,
                "scope": tool.scope,
                "members": {member.choice: member.tool for member in tool.merges},
            }
            for tool in plan.merged
        },
    }


def _tool(plan: ServerPlan, tool: ToolPlan) -> JsonObject:
    entry: JsonObject = {
        "operation": tool.operation.key,
        "arguments": _keywords(tool.arguments),
        "result_key": tool.result_key,
        "request": request_contract(plan, tool),
    }
    if tool.pagination is not None:
        described = msgspec.structs.asdict(tool.pagination)
        del described["most"], described["evidence"]  # the input schema contains the former
        paths = {name: list(described[name]) for name in ("cursor", "within")}
        entry["pagination"] = {"argument": "max_pages", **omit_empty({**described, **paths})}
    if tool.exposed_as != "tool":
        listed = omit_empty(build_list_entry(tool))
        entry |= {"exposed_as": tool.exposed_as, "listing": listed}
    return entry | omit_empty(
        {
            "continuation": tool.continuation,
            "defaults": _defaults(tool.arguments),
            "document_name": tool.document_name,
            "fields": tool.fields,
            "flat_body": _describe_flat_body(tool.flat_body),
            "input_schema": tool.full_input_schema,
            "members": {"body": dict(tool.members)} if tool.members else {},
            "output_is_cut": tool.output_is_cut,
            "shaping": _describe_shaping(tool.policies),
            "wire_names": dict(tool.wire_names),
        }
    )


def _describe_flat_body(flat: FlatBody | None) -> JsonObject:
    return {} if flat is None else omit_empty(msgspec.structs.asdict(flat))


def _describe_shaping(policies: ResultPolicies) -> JsonObject:
    """Return the policies for calls and results that differ from the defaults."""
    poll: JsonObject = {}
    if policies.poll is not None:
        poll = {
            "until": policies.poll.until.split("."),
            "values": list(policies.poll.values),
            "interval_seconds": policies.poll.interval_seconds,
            "timeout_seconds": policies.poll.timeout_seconds,
        }
    result = {
        "select": dict(policies.select),
        "max_items": policies.max_items,
        "max_bytes": policies.max_bytes,
    }
    return omit_empty(
        {
            "confirm": policies.confirm,
            "poll": poll,
            "task": policies.task,
            "jobs": [_describe_job(job) for job in policies.jobs],
            "cancel": _describe_job_call(policies.cancel),
            "result": omit_empty(result),
        }
    )


def _describe_job(job: JobPlan) -> JsonObject:
    return {
        "status": _describe_job_call(job.status),
        "until": job.until.split("."),
        "values": list(job.values),
        "interval_seconds": job.interval_seconds,
        **omit_empty({"path": job.path}),
    }


def _describe_job_call(call: JobCall | None) -> JsonObject:
    return {} if call is None else {"tool": call.tool, "arguments": dict(call.arguments)}


def _workflow(workflow: WorkflowPlan) -> JsonObject:
    return {
        "operation": workflow.key,
        "arguments": _keywords(workflow.arguments),
        "result_key": workflow.result_key,
        "steps": [{"id": step.id, "operation": step.operation} for step in workflow.steps],
        **omit_empty(
            {"continuation": workflow.continuation, "defaults": _defaults(workflow.arguments)}
        ),
    }


def _keywords(arguments: Iterable[Argument]) -> JsonObject:
    """Return the handler's keyword for each argument."""
    return {argument.name: str(argument.identifier) for argument in arguments}


def _defaults(arguments: Iterable[Argument]) -> JsonObject:
    """Return the values that the handler receives for omitted arguments."""
    return {item.name: item.default for item in arguments if item.default is not UNSET}


def _security_scheme(scheme: SecurityScheme) -> JsonObject:
    return omit_empty(
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


def _environment_variable(
    variable: EnvironmentVariable, schemas: Mapping[str, JsonSchema]
) -> JsonObject:
    entry: JsonObject = {
        "name": variable.name,
        "description": variable.description,
        "required": variable.required,
        "secret": variable.secret,
    } | omit_empty(
        {
            "scheme": variable.scheme,
            "part": variable.part,
            "example": variable.example,
            "choices": list(variable.choices),
        }
    )
    if variable.schema is not None:
        entry["schema"] = bundle(variable.schema, schemas)
        entry |= omit_empty({"reads_as": dict(variable.reads_as)})
    return entry


def surface_of(plan: ServerPlan) -> Surface:
    """Return the tool surface of a planned server: all that its clients rely on."""
    tools = {tool.name: _surface_tool(tool) for tool in plan.listed_tools}
    tools |= {workflow.name: _surface_tool(workflow) for workflow in plan.workflows}
    exposed = {tool.name: _surface_tool(tool) for tool in plan.tools if tool.exposed_as != "tool"}
    return Surface(tools, plan.instructions, exposed=exposed)


def _surface_tool(tool: ToolPlan | WorkflowPlan) -> SurfaceTool:
    surface = SurfaceTool(
        operation=tool.key,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=tool.annotations,
        output_schema=tool.output_schema,
    )
    if isinstance(tool, WorkflowPlan):
        return surface
    return replace(
        surface,
        checked_schema=tool.full_input_schema,
        flat_body=tool.flat_body,
        wire_names=tool.wire_names if tool.flat_body is not None else {},
        security=tuple(
            {use.scheme: use.scopes for use in alternative} for alternative in tool.security
        ),
        aliases=tool.aliases,
        document_name=tool.document_name,
        output_is_cut=tool.output_is_cut,
        merges={member.choice: member.tool for member in tool.merges},
    )

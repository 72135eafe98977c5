"""`.mcpgen/surface.json`: the tool surface as a file that is committed and compared."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan
from mcpgen.render.json_text import compact, entry_a_line


def surface_of(plan: ServerPlan) -> Surface:
    """Return what the clients of a planned server will rely on."""
    tools = {tool.name: _tool(tool) for tool in plan.listed_tools}
    tools |= {workflow.name: _workflow(workflow) for workflow in plan.workflows}
    exposed = {tool.name: _tool(tool) for tool in plan.tools if tool.exposed_as != "tool"}
    return Surface(tools, plan.instructions, exposed=exposed)


def surface_file(surface: Surface) -> bytes:
    """Write a surface: a block for each tool, a line for each thing that is said of it."""
    exposed = b'"exposed": %s,\n' % _blocks(surface.exposed) if surface.exposed else b""
    return b'{\n%s"instructions": %s,\n"surface_version": %d,\n"tools": %s}\n' % (
        exposed,
        compact(surface.instructions),
        surface.surface_version,
        _blocks(surface.tools),
    )


def _blocks(tools: Mapping[str, SurfaceTool]) -> bytes:
    return entry_a_line({name: _members(tool) for name, tool in sorted(tools.items())})


def _tool(tool: ToolPlan) -> SurfaceTool:
    return SurfaceTool(
        operation=tool.operation.key,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=tool.annotations,
        output_schema=tool.output_schema,
        checked_schema=tool.full_input_schema,
        security=tuple(
            {use.scheme: use.scopes for use in alternative} for alternative in tool.security
        ),
        aliases=tool.aliases,
        document_name=tool.document_name,
    )


def _workflow(workflow: WorkflowPlan) -> SurfaceTool:
    return SurfaceTool(
        operation=workflow.key,
        title=workflow.title,
        description=workflow.description,
        input_schema=workflow.input_schema,
        annotations=workflow.annotations,
        output_schema=workflow.output_schema,
    )


def _members(tool: SurfaceTool) -> dict[str, object]:
    """Leave out what the tool does not have."""
    return {
        name: value
        for name, value in msgspec.structs.asdict(tool).items()
        if value not in (None, (), "")
    }

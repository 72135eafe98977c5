"""The tool surface of a planned server."""

from __future__ import annotations

from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan


def surface_of(plan: ServerPlan) -> Surface:
    """Return what the clients of a planned server will rely on."""
    tools = {tool.name: _tool(tool) for tool in plan.listed_tools}
    tools |= {workflow.name: _workflow(workflow) for workflow in plan.workflows}
    exposed = {tool.name: _tool(tool) for tool in plan.tools if tool.exposed_as != "tool"}
    return Surface(tools, plan.instructions, exposed=exposed)


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

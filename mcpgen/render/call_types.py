"""`_generated/calls.py`: the types with which code in `handlers/` and `tests/` names operations."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan, WorkflowResult
from mcpgen.render.filters import DocText, Source, doc_text, identifier
from mcpgen.render.views import (
    ImportView,
    NamesUsed,
    parameters,
    short_title,
    workflow_returns,
)


class CallView(Struct, frozen=True):
    """The type of one operation's handler: its parameters and its result."""

    name: Source
    docstring: DocText
    signature: Source
    returns: Source


class CallsModule(Struct, frozen=True):
    """`_generated/calls.py`."""

    title: DocText
    imports: tuple[ImportView, ...]
    calls: tuple[CallView, ...]


def calls_module(plan: ServerPlan) -> CallsModule | None:
    """Return the view of the types that the user's code names; None if it names none."""
    names = NamesUsed()
    planned: list[ToolPlan | WorkflowPlan] = [*plan.tools, *plan.workflows]
    named = sorted(
        (tool for tool in planned if tool.call_type in plan.named_call_types),
        key=lambda tool: tool.call_type,
    )
    calls = tuple(_call(tool, names) for tool in named)
    if not calls:
        return None
    results = {tool.returns.name for tool in named if isinstance(tool.returns, WorkflowResult)}
    return CallsModule(
        title=short_title(plan),
        imports=names.spell_imports(
            plan,
            {
                "typing": {"Protocol"},
                "mcpgen.runtime": {"Context"},
                f"{plan.package}._generated.workflows": results,
            },
        ),
        calls=calls,
    )


def _call(tool: ToolPlan | WorkflowPlan, names: NamesUsed) -> CallView:
    if isinstance(tool, WorkflowPlan):
        key, returns = tool.key, workflow_returns(tool, names)
    else:
        key, returns = tool.operation.key, names.spell(tool.returns)
    return CallView(
        name=identifier(tool.call_type),
        docstring=doc_text(f"`{key}`."),
        signature=Source(f"self, {parameters(tool.arguments, names)}"),
        returns=returns,
    )

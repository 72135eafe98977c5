"""Hand-written overrides of the `workflows` tools."""

from collections.abc import Iterator

from mcpgen.runtime import Context, ToolError, override

from n8n_mcp._generated.calls import PutWorkflowsIdCall
from n8n_mcp._generated.models import Workflow, WorkflowDraft


@override("PUT /workflows/{id}")
async def update_workflow(
    ctx: Context, call_next: PutWorkflowsIdCall, *, id_: str, body: WorkflowDraft
) -> Workflow:
    """Replace a workflow: `PUT /workflows/{id}`.

    n8n takes connections of nodes that are not there, and the workflow fails when it runs. Models
    make such when they rename a node.
    """
    nodes = {node["name"] for node in body["nodes"]}
    missing = sorted(set(connected(body)) - nodes)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise ToolError(f"no node is called {names}; `connections` go by the names of nodes")
    return await call_next(ctx, id_=id_, body=body)


def connected(workflow: WorkflowDraft) -> Iterator[str]:
    """The name of each node that a connection leaves or reaches.

    `connections` has, by node and kind of connection, a list of targets for each output.
    """
    for source, kinds in workflow["connections"].items():
        yield source
        for outputs in kinds.values():
            for targets in outputs:
                yield from (target["node"] for target in targets or ())

"""Hand-written overrides of the `iam` tools."""

from datetime import UTC, datetime, timedelta

from mcpgen.runtime import Context, ToolError, override

from cloud_mcp._generated.calls import PostProjectsProjectIdIamPolicyGrantCall
from cloud_mcp._generated.models import GrantRoleBody, Policy

LIFETIME = timedelta(days=30)
NEVER = {"iam.admin", "project.owner", "organization.admin"}


@override("POST /projects/{project_id}/iam/policy/grant")
async def grant_role(
    ctx: Context, call_next: PostProjectsProjectIdIamPolicyGrantCall, *, body: GrantRoleBody
) -> Policy:
    """Give somebody a role: `POST /projects/{project_id}/iam/policy/grant`.

    Access that is asked for in a conversation is needed for a task. It ends by itself, and roles that
    can give further roles are given by people.
    """
    if body["role"] in NEVER:
        raise ToolError(f"{body['role']} can give further roles: a person gives it in the console.")
    until = body.get("until") or (datetime.now(UTC) + LIFETIME).strftime("%Y-%m-%dT%H:%M:%SZ")
    return await call_next(ctx, body={**body, "until": until})

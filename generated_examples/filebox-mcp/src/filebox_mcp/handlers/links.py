"""Hand-written overrides of the `links` tools."""

from datetime import UTC, datetime, timedelta

from mcpgen.runtime import Context, ToolError, override

from filebox_mcp._generated.calls import PostFilesFileIdLinksCall
from filebox_mcp._generated.models import CreateLinkBody, Link

LIFETIME = timedelta(days=14)


@override("POST /files/{file_id}/links")
async def create_link(
    ctx: Context, call_next: PostFilesFileIdLinksCall, *, file_id: str, body: CreateLinkBody
) -> Link:
    """Create a link to a file: `POST /files/{file_id}/links`.

    Filebox creates links that never end unless it is told otherwise, and nobody remembers those.
    """
    body = {**body, "expires_at": expiry(body.get("expires_at"), now=datetime.now(UTC))}
    return await call_next(ctx, file_id=file_id, body=body)


def expiry(wanted: str | None, *, now: datetime) -> str:
    """Return when a link ends: as it is wanted, or two weeks from now.

    Raises:
        ToolError: that time has passed.
    """
    if wanted is None:
        return (now + LIFETIME).strftime("%Y-%m-%dT%H:%M:%SZ")
    if datetime.fromisoformat(wanted) <= now:
        raise ToolError(f"expires_at {wanted} has passed: it is {now:%Y-%m-%dT%H:%M:%SZ} now")
    return wanted

"""Hand-written overrides of the `comments` tools."""

from mcpgen.runtime import Context, ToolError, override

from ticketing_mcp._generated.calls import PostCommentsAddCall
from ticketing_mcp._generated.models import AddCommentBody, AddCommentResult


@override("POST /comments.add")
async def add_comment(
    ctx: Context, call_next: PostCommentsAddCall, *, body: AddCommentBody
) -> AddCommentResult:
    """Add a comment to a ticket: `POST /comments.add`.

    Pavilion Desk mails every comment to the requester unless it is told otherwise. A note for
    colleagues needs no question; a mail to a customer does, with its text.
    """
    visibility = body.get("visibility", "internal")
    if visibility == "public":
        question = f"Send this to the requester of {body['ticket']}?\n\n{body['text']}"
        answer = await ctx.elicit(question, {"type": "object", "properties": {}})
        if answer.action != "accept":
            raise ToolError("the user did not agree: nothing was sent; ask what to change")
    return await call_next(ctx, body={**body, "visibility": visibility})

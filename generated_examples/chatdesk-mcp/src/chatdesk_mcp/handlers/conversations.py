"""Hand-written overrides of the `conversations` tools."""

import re

from mcpgen.runtime import Context, override

from chatdesk_mcp._generated.calls import GetConversationsConversationIdTranscriptCall

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")


@override("GET /conversations/{conversation_id}/transcript")
async def get_transcript(
    ctx: Context, call_next: GetConversationsConversationIdTranscriptCall, *, conversation_id: str
) -> object:
    """Fetch all of a conversation as text: `GET /conversations/{conversation_id}/transcript`.

    What was said is for a model to read; e-mail addresses in it are not. `get_contact` has the one
    that matters, for those who may see it.
    """
    transcript = await call_next(ctx, conversation_id=conversation_id)
    return EMAIL.sub("[e-mail]", transcript) if isinstance(transcript, str) else transcript

"""Hand-written overrides of the `uploads` tools."""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256

from mcpgen.runtime import ABSENT, Absent, Context, ToolError, override

from filebox_mcp._generated.calls import PutUploadsUploadIdPartsPartNumberCall
from filebox_mcp._generated.models import Part

LARGEST_PART = 8 * 1024 * 1024


@override("PUT /uploads/{upload_id}/parts/{part_number}")
async def upload_part(
    ctx: Context,
    call_next: PutUploadsUploadIdPartsPartNumberCall,
    *,
    upload_id: str,
    part_number: int,
    body: str,
    content_digest: str | Absent = ABSENT,
) -> Part:
    """Send one part of a file: `PUT /uploads/{upload_id}/parts/{part_number}`.

    No model can compute a digest. Filebox refuses a part that does not match it, so that one that
    was damaged on its way is sent again before the file is put together.
    """
    content = decode(body)
    if content is not None:
        if len(content) > LARGEST_PART:
            raise ToolError(f"the part has {len(content):,} bytes: {LARGEST_PART:,} at most")
        if isinstance(content_digest, Absent):
            content_digest = digest(content)
    return await call_next(
        ctx, upload_id=upload_id, part_number=part_number, body=body, content_digest=content_digest
    )


def digest(content: bytes) -> str:
    """Return the field value of Content-Digest (RFC 9530, section 2)."""
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"


def decode(body: str) -> bytes | None:
    """Return the bytes of base64; None for a URI, whose file the server reads when it sends it."""
    try:
        return b64decode(body, validate=True)
    except binascii.Error:
        return None

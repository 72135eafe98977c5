"""Hand-written overrides of the `contents` tools."""

import binascii
from base64 import b64decode, b64encode
from typing import cast
from urllib.parse import unquote_to_bytes

from mcpgen.runtime import ABSENT, Absent, Context, ToolError, UpstreamStatusError, override

from gitforge_mcp._generated.calls import (
    GetReposOwnerRepoContentsPathCall,
    PutReposOwnerRepoContentsPathCall,
)
from gitforge_mcp._generated.models import Commit, Content, WriteFileBody

NOT_MODIFIED = 304


@override("GET /repos/{owner}/{repo}/contents/{path}")
async def read_file(
    ctx: Context,
    call_next: GetReposOwnerRepoContentsPathCall,
    *,
    owner: str,
    repo: str,
    path: str,
    ref: str | Absent = ABSENT,
    known_sha: str | Absent = ABSENT,
) -> Content:
    """Fetch a file: `GET /repos/{owner}/{repo}/contents/{path}`.

    A model reads text and not base64, and one that has the file already needs no second copy.
    """
    sha = "" if isinstance(known_sha, Absent) else known_sha.strip('"')
    etag = f'"{sha}"' if sha else ABSENT
    try:
        found = await call_next(ctx, owner=owner, repo=repo, path=path, ref=ref, known_sha=etag)
    except UpstreamStatusError as error:
        if error.status != NOT_MODIFIED or not sha:
            raise
        return {"path": path, "sha": sha, "encoding": "unchanged", "content": ""}
    return decode(found)


def decode(found: Content) -> Content:
    """Return a file as text, if it is UTF-8; else as it came."""
    if found["encoding"] != "base64":
        return found
    try:
        text = b64decode(found["content"], validate=False).decode()
    except (binascii.Error, UnicodeDecodeError):
        return found
    return {**found, "encoding": "utf-8", "content": text}


@override("PUT /repos/{owner}/{repo}/contents/{path}")
async def write_file(
    ctx: Context,
    call_next: PutReposOwnerRepoContentsPathCall,
    *,
    owner: str,
    repo: str,
    path: str,
    body: WriteFileBody,
) -> Commit:
    """Create or change a file: `PUT /repos/{owner}/{repo}/contents/{path}`.

    Gitforge takes base64, which models get wrong in long files.
    """
    content = b64encode(read_bytes(body["content"])).decode()
    body = cast("WriteFileBody", {**body, "content": content})
    return await call_next(ctx, owner=owner, repo=repo, path=path, body=body)


def read_bytes(content: str) -> bytes:
    """Return the bytes of a text, or of a `data:` URI (RFC 2397).

    Raises:
        ToolError: the `data:` URI has no comma, or its base64 is invalid.
    """
    if not content.startswith("data:"):
        return content.encode()
    head, comma, data = content.partition(",")
    if not comma:
        raise ToolError("the data: URI of content has no comma before its data")
    raw = unquote_to_bytes(data)
    if not head.endswith(";base64"):
        return raw
    try:
        return b64decode(raw, validate=True)
    except binascii.Error as error:
        raise ToolError("the data: URI of content is not valid base64") from error

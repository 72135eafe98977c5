"""Paginated replies of the mock API."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import quote, unquote

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream, RecordedRequest
from mcpgen.testing.suite.cases import Case


def serve_pages(
    mock: MockUpstream, replies: Sequence[JsonObject], secrets: Collection[str] = ()
) -> Sender:
    """Return a sender that answers with one of `replies` after the other; the last is repeated.

    A reply's `link` contains parameters that are added to the request's query in the link to the
    next page: in the header `Link` (RFC 8288), or in the body, at the path `link_at`, where the
    link has no query parameters with a value of `secrets`. If a list of links is at that path,
    `link_members` are the members of a link with its relation and its URL.
    """
    left = list(replies)

    async def send(request: HttpRequest) -> HttpResponse:
        if left:
            mock.reply_with(Reply.from_json(_with_link(left.pop(0), request.url, secrets)))
        return await mock.send(request)

    return send


def _with_link(reply: JsonObject, url: str, secrets: Collection[str]) -> JsonObject:
    if "link" not in reply:
        return reply
    if "link_at" in reply:
        path, _, query = url.partition("?")
        public = [it for it in query.split("&") if unquote(it.partition("=")[2]) not in secrets]
        url = f"{path}?{'&'.join(public)}"
    pairs = [f"{quote(name, '')}={quote(str(value), '')}" for name, value in reply["link"].items()]
    path, _, query = url.partition("?")
    following = "?".join(filter(None, (path, "&".join(filter(None, (query, *pairs))))))
    if "link_at" not in reply:
        return {**reply, "headers": {"Link": f'<{following}>; rel="next"'}}
    *outer, name = reply["link_at"]
    holder = body = deepcopy(reply["body"])
    for step in outer:
        holder = holder.setdefault(step, {})
    relation, url_member = reply.get("link_members", ("", ""))
    holder[name] = [{relation: "next", url_member: following}] if relation else following
    return {**reply, "body": body}


def join_pages(case: Case, requests: Sequence[RecordedRequest]) -> HttpResponse | None:
    """Return the response of the API; of several pages, the last one with the items of all.

    None if the requests are not those of the case.
    """
    if len(requests) == 1:
        return requests[0].response
    is_whole = len(requests) == len(case.replies)
    if not case.replies or not is_whole or any(request.problems for request in requests):
        return None
    member = case.expect["joined"]
    place = [*case.expect.get("within", ()), *([member] if member else [])]
    pages = [json.loads(request.response.body) for request in requests]
    lists = [_find(page, place) for page in pages]
    items = [item for page_items in lists for item in page_items]
    whole = next(
        page for page, page_items in zip(pages[::-1], lists[::-1], strict=True) if page_items
    )
    if member:
        _find(whole, place[:-1])[member] = items
    else:
        whole = items
    return HttpResponse(200, (("Content-Type", "application/json"),), json.dumps(whole).encode())


def _find(page: Any, place: Sequence[str]) -> Any:
    for name in place:
        page = page[name]
    return page

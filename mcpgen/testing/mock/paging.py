"""Paginated replies of the mock API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream, RecordedRequest
from mcpgen.testing.suite.cases import Case


def serve_pages(mock: MockUpstream, replies: Sequence[JsonObject]) -> Sender:
    """Return a sender that answers with one of `replies` after the other; the last is repeated.

    A reply's `link` contains parameters that are added to the request's query in the link to the
    next page (RFC 8288).
    """
    left = list(replies)

    async def send(request: HttpRequest) -> HttpResponse:
        if left:
            mock.reply_with(Reply.from_json(_with_link(left.pop(0), request.url)))
        return await mock.send(request)

    return send


def _with_link(reply: JsonObject, url: str) -> JsonObject:
    if "link" not in reply:
        return reply
    pairs = [f"{quote(name, '')}={quote(str(value), '')}" for name, value in reply["link"].items()]
    path, _, query = url.partition("?")
    following = "?".join(filter(None, (path, "&".join(filter(None, (query, *pairs))))))
    return {**reply, "headers": {"Link": f'<{following}>; rel="next"'}}


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
    pages = [json.loads(request.response.body) for request in requests]
    lists = [page[member] if member else page for page in pages]
    items = [item for page_items in lists for item in page_items]
    last = next(
        page for page, page_items in zip(pages[::-1], lists[::-1], strict=True) if page_items
    )
    whole = {**last, member: items} if member else items
    return HttpResponse(200, (("Content-Type", "application/json"),), json.dumps(whole).encode())

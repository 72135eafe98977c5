"""The recording mock API: it checks each request against the document and answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    ResponseTooLargeError,
)
from mcpgen.runtime.upstream.http.messages import HeaderFields, HttpRequest, HttpResponse
from mcpgen.testing.mock.decode import (
    DecodedRequest,
    RawRequest,
    decode_request,
    parse_literal_query,
)
from mcpgen.testing.mock.description import Description, Operation, base_path
from mcpgen.testing.mock.local_server import LocalServer
from mcpgen.testing.mock.replies import (
    Reply,
    build_problem,
    build_response,
    build_usual_response,
    find_accept_problems,
)
from mcpgen.testing.mock.security import Secrets, judge_security
from mcpgen.testing.mock.stateful import StatefulApi
from mcpgen.testing.mock.styles import Pairs

if TYPE_CHECKING:
    from aiohttp import web

_NO_REPLY = Reply()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One received request, decoded, with its problems and the response."""

    method: str
    url: str
    headers: HeaderFields
    body: bytes
    operation: str  # its key; "" for an unknown route
    decoded: DecodedRequest
    security: tuple[str, ...]  # the satisfied alternative of security schemes
    problems: tuple[str, ...]  # empty for a valid request
    response: HttpResponse

    def __str__(self) -> str:
        return f"{self.method} {self.url}"


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A received request before it is assigned to an operation."""

    method: str
    url: str
    headers: HeaderFields
    body: bytes
    has_certificate: bool | None

    def __str__(self) -> str:
        fields = "; ".join(f"{name}: {value}" for name, value in self.headers)
        return f"{self.method} {self.url} {fields}"

    def record(
        self,
        operation: str,
        decoded: DecodedRequest,
        security: tuple[str, ...],
        problems: Sequence[str],
        response: HttpResponse,
    ) -> RecordedRequest:
        about = (operation, decoded, security, tuple(problems), response)
        return RecordedRequest(self.method, self.url, self.headers, self.body, *about)

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def query(self) -> str:
        return self.url.partition("?")[2]

    @property
    def accept(self) -> str:
        return next((value for name, value in self.headers if name.lower() == "accept"), "")


class MockUpstream:
    """The API of a document, for tests.

    `send` is a sender for an `ApiClient` in this process; `start` serves HTTP and returns the base
    URL. Invalid requests and unknown routes get a status 4xx with the reason. `requests` contains
    all requests.
    """

    def __init__(
        self,
        description: JsonObject | Description,
        *,
        secrets: Secrets | None = None,
        base_url: str = "",
        stateful: bool = False,
    ) -> None:
        """Mock the API of a decoded `tests/generated/upstream.json`.

        `secrets` are the accepted credentials, by security scheme and part; a scheme without them
        accepts every credential of its kind. `base_url` replaces the servers of the document. A
        `stateful` mock stores created, changed and deleted items of the collections in `state`.
        """
        if isinstance(description, Description):
            self.api = description
        else:
            self.api = Description(description)
        self.secrets = secrets or {}
        self.base_url = base_url
        self.prefers = ""  # the key of the operation to choose if it is among those that match
        self.requests: list[RecordedRequest] = []
        self.state = StatefulApi(self.api) if stateful else None
        self._mounts: dict[str, str] = {}  # the base URLs of sources, after `start`
        self._replies: dict[str, Reply] = {}
        self._server: LocalServer | None = None

    def reply_with(self, reply: Reply, operation: str = "") -> None:
        """Use a reply for one operation (its key), or for all others."""
        self._replies[operation] = reply

    def forget(self) -> None:
        """Clear the requests, the replies, and the state."""
        self.requests.clear()
        self._replies.clear()
        if self.state is not None:
            self.state.forget()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Answer a request in process (`upstream.http.Sender`).

        Raises:
            UpstreamError: the reply is a connection fault, or too large for the request.
        """
        arrival = _Arrival(
            request.method,
            request.url,
            request.headers,
            request.body or b"",
            request.client_certificate is not None,
        )
        response, fault = await self._answer(arrival)
        if fault == "refused":
            raise ConnectError("could not be reached: the connection was refused.")
        if fault in {"connection", "cut"}:
            raise DisconnectedError("gave no answer: the connection broke.")
        if len(response.body) > request.max_response_bytes:
            raise ResponseTooLargeError(f"answered with over {request.max_response_bytes} bytes.")
        return response

    async def start(self, port: int = 0) -> str:
        """Serve on 127.0.0.1; return the base URL, with the path of the document's first server.

        Port 0 selects a free port. For several APIs, `mount_url` returns the base URL of each.
        """
        self._server = LocalServer(self._serve)
        origin = await self._server.start(port)
        self._mounts = {
            operation.source: mount_url(origin, operation.source, operation.base_urls)
            for operation in self.api.operations.values()
            if operation.source
        }
        self.base_url = mount_url(origin, "", self.api.base_urls)
        return self.base_url

    async def stop(self) -> None:
        """Stop serving; open connections are closed."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop()

    async def _answer(self, arrival: _Arrival) -> tuple[HttpResponse, str]:
        """Return the response and the connection fault; "" for none."""
        recorded = self._judge(arrival)
        reply = self._reply(recorded.operation)
        if self.state is not None and not recorded.problems and reply is _NO_REPLY:
            operation = self.api.operations[recorded.operation]
            remembered = self.state.answer(operation, recorded.decoded, arrival.url, arrival.accept)
            recorded = replace(recorded, response=remembered or recorded.response)
        self.requests.append(recorded)
        if recorded.problems:
            return recorded.response, ""
        if reply.delay_seconds:
            await asyncio.sleep(reply.delay_seconds)
        return recorded.response, reply.fault

    def _reply(self, operation: str) -> Reply:
        return self._replies.get(operation, self._replies.get("", _NO_REPLY))

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        arrival = _Arrival(
            request.method,
            f"{request.scheme}://{request.host}{request.raw_path}",
            tuple((name.decode("latin-1"), _decode(value)) for name, value in request.raw_headers),
            await request.content.read(),
            has_certificate=None,
        )
        response, fault = await self._answer(arrival)
        if fault == "cut":
            return await _send_half(request, response)
        if fault in {"connection", "refused"}:
            _abort(request)
        return web.Response(status=response.status, headers=response.headers, body=response.body)

    # Validation

    def _judge(self, arrival: _Arrival) -> RecordedRequest:
        found = self._find(arrival)
        if not found:
            bases = [self.base_url] if self.base_url else list(self.api.base_urls)
            problem = (
                f"no operation of the document is `{arrival.method} {arrival.path}` "
                f"(base URLs: {', '.join(bases) or 'none'})"
            )
            response = build_problem(404, problem, [problem])
            return arrival.record("", DecodedRequest(), (), [problem], response)
        verdicts = [self._judge_as(operation, raw, arrival) for operation, raw in found]
        return next((verdict for verdict in verdicts if not verdict.problems), verdicts[0])

    def _judge_as(
        self, operation: Operation, raw: RawRequest, arrival: _Arrival
    ) -> RecordedRequest:
        verdict = judge_security(
            operation,
            self.api.security_schemes,
            raw,
            self.secrets,
            has_certificate=arrival.has_certificate,
        )
        decoded = decode_request(
            operation, raw, self.api.requests.schemas, credentials=verdict.places
        )
        problems = [verdict.problem] if verdict.problem else []
        problems += decoded.problems
        problems += find_accept_problems(operation, arrival.accept)
        if problems:
            status = 401 if verdict.problem else 400
            response = build_problem(status, "; ".join(problems), problems)
        else:
            response = self._make_response(operation, arrival)
        return arrival.record(operation.key, decoded, verdict.alternative, problems, response)

    def _make_response(self, operation: Operation, arrival: _Arrival) -> HttpResponse:
        reply = self._reply(operation.key)
        accept = arrival.accept
        if reply.body is not None:
            body = b"" if operation.method == "HEAD" else reply.body
            return HttpResponse(reply.status or 200, reply.headers, body)
        if reply.fault == "echo":
            usual = build_problem(reply.status or 400, f"not understood: {arrival}")
        elif reply.status:
            usual = build_response(operation, self.api, accept, reply.status)
        else:
            usual = build_usual_response(operation, self.api, accept)
        body = usual.body[: len(usual.body) // 2] or b"{" if reply.fault == "json" else usual.body
        if operation.method == "HEAD":
            body = b""
        return HttpResponse(usual.status, (*usual.headers, *reply.headers), body)

    # Routing

    def _find(self, arrival: _Arrival) -> list[tuple[Operation, RawRequest]]:
        """Return the preferred operation, or else those with the most literal path, that match."""
        candidates = list(self._find_candidates(arrival))
        # Also where the value of a parameter is what another path has in its place.
        preferred = [found for found in candidates if found[0].key == self.prefers]
        if preferred or not candidates:
            return preferred
        ranks = [_rank_literal(operation.path) for operation, _ in candidates]
        best = min(ranks)
        return [found for found, rank in zip(candidates, ranks, strict=True) if rank == best]

    def _find_candidates(self, arrival: _Arrival) -> Iterator[tuple[Operation, RawRequest]]:
        configured = filter(None, (self.base_url, *self._mounts.values()))
        for base in dict.fromkeys((*configured, *self.api.all_base_urls)):
            path = _strip_base_url(base, arrival)
            if path is None:
                continue
            for key in self.api.routes.find(arrival.method, path):
                operation = self.api.operations[key]
                own = self._mounts.get(operation.source, self.base_url)
                if base not in ([own] if own else operation.base_urls or ("",)):
                    continue
                pairs = Pairs(arrival.query)
                if all(pairs.take_pair(*pair) for pair in parse_literal_query(operation.path)):
                    raw = RawRequest(
                        arrival.method, path, arrival.query, arrival.headers, arrival.body
                    )
                    yield operation, raw


def mount_url(base_url: str, source: str, base_urls: Sequence[str]) -> str:
    """Return the base URL of one of several APIs on a mock at `base_url`."""
    parts = urlsplit(base_url)
    folder = f"/{source}" if source else ""
    return f"{parts.scheme}://{parts.netloc}{folder}{base_path(next(iter(base_urls), ''))}"


def _strip_base_url(base_url: str, arrival: _Arrival) -> str | None:
    """Return the path below a base URL, or None; a relative base URL matches every host."""
    base, sent = urlsplit(base_url), urlsplit(arrival.url)
    if base.netloc and (base.scheme, base.netloc) != (sent.scheme, sent.netloc):
        return None
    prefix = base_path(base_url)
    return sent.path.removeprefix(prefix) if sent.path.startswith(f"{prefix}/") else None


def _rank_literal(template: str) -> tuple[tuple[int, ...], int]:
    """Return a sort key: concrete paths first (Paths Object), then those with more query."""
    segments = template.partition("?")[0].split("/")
    kinds = tuple(0 if "{" not in part else 2 if part.startswith("{") else 1 for part in segments)
    return kinds, -len(parse_literal_query(template))


async def _send_half(request: web.BaseRequest, response: HttpResponse) -> web.StreamResponse:
    """Send half of a body with the length of all of it, and close the connection."""
    from aiohttp import web

    cut = web.StreamResponse(status=response.status, headers=response.headers)
    cut.content_length = len(response.body) + 1
    await cut.prepare(request)
    await cut.write(response.body[: len(response.body) // 2])
    _abort(request)
    return cut


def _abort(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")

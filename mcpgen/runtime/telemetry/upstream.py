"""Observation of the HTTP requests that a call sends to the API."""

from __future__ import annotations

import asyncio
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mcpgen.runtime.process.log import mask
from mcpgen.runtime.telemetry.attempts import FULL_URL, MAX_URL, identify_server
from mcpgen.runtime.telemetry.otlp import CLIENT, encode_attributes
from mcpgen.runtime.telemetry.trace_context import SAMPLED
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest

if TYPE_CHECKING:
    from mcpgen.runtime.telemetry.attempts import Attempt
    from mcpgen.runtime.telemetry.observer import Observation
    from mcpgen.runtime.telemetry.spans import Spans
    from mcpgen.runtime.telemetry.trace_context import SpanContext
    from mcpgen.runtime.upstream.http.messages import HttpResponse, Sender

_PARENT_LENGTH: Final = len("traceparent")


class ObservedSender:
    """Sender of the requests of one API call, each of them with a span and a measurement.

    Arguments are in the path and the query of a URL. Unless the operator has allowed to record
    them, `url.full` has the path's template, with REDACTED for each variable, and no query.
    """

    __slots__ = ("_base_url", "_is_trusted", "_observation", "_send", "_sent", "_template")

    def __init__(
        self,
        send: Sender,
        observation: Observation,
        base_url: str,
        template: str,
        is_trusted: bool,
    ) -> None:
        """Create a sender; only if `is_trusted`, the API receives the trace context."""
        self._send = send
        self._observation = observation
        self._base_url = base_url
        self._template = template
        self._is_trusted = is_trusted
        self._sent = 0  # to the API, not to an authorization server

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request once."""
        observation = self._observation
        observer = observation.observer
        is_api = request.url.startswith(self._base_url)
        url, template = (
            (self._base_url, self._template) if is_api else (request.url.partition("?")[0], "")
        )
        resends = self._sent if is_api else 0
        self._sent += is_api
        context = None
        if observer.spans is not None:
            context = self._begin_span(observer.spans, request.method, url)
            if is_api and self._is_trusted:
                request = _add_trace_context(request, context)
        start_ns, began = time_ns(), perf_counter()
        status, error_type = 0, ""
        try:
            response = await self._send(request)
            status = response.status
        except UpstreamError as error:
            error_type = type(error).__name__
            raise
        except asyncio.CancelledError:
            error_type = "cancelled"  # by the client, or because the time of the call is over
            raise
        else:
            return response
        finally:
            seconds = perf_counter() - began
            observation.upstream_seconds += seconds
            if is_api:
                observation.attempts += 1
                observation.status = status
            if resends and observer.metrics is not None:
                observer.metrics.count_retry(identify_server(request.method, url))
            attempt = observer.attempts.find(request.method, url, template, status, error_type)
            if attempt.durations is not None:
                attempt.durations.record(seconds)
            if context is not None and context.flags & SAMPLED:
                self._record_span(attempt, request.url, context, start_ns, seconds, resends)

    def _begin_span(self, spans: Spans, method: str, url: str) -> SpanContext:
        if not spans.reads_names:
            return spans.begin(self._observation.find_context(), CLIENT)
        server = identify_server(method, url)
        return spans.begin(self._observation.find_context(), CLIENT, method, server)

    def _record_span(
        self,
        attempt: Attempt,
        url: str,
        context: SpanContext,
        start_ns: int,
        seconds: float,
        resends: int,
    ) -> None:
        observation = self._observation
        observer = observation.observer
        own = attempt.hidden_url
        if observer.captures_content:
            own = FULL_URL.encode(mask(url)[:MAX_URL])
        if resends:
            own += encode_attributes((("http.request.resend_count", resends),))
        if observer.spans is not None:
            parent, shared = observation.context, attempt.shared
            observer.spans.queue.add((context, parent, shared, start_ns, seconds, None, own))


def _add_trace_context(request: HttpRequest, context: SpanContext) -> HttpRequest:
    """Add `traceparent` and `tracestate`, unless an argument of the tool sets them."""
    for name, _ in request.headers:
        if len(name) == _PARENT_LENGTH and name.lower() == "traceparent":
            return request
    headers = (*request.headers, ("traceparent", context.format_parent()))
    if context.state:
        headers = (*headers, ("tracestate", context.state))
    return replace(request, headers=headers)

"""Observation of the HTTP requests that a call sends to the API."""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mcpgen.runtime.process.log import mask
from mcpgen.runtime.telemetry.otlp import (
    CLIENT,
    Attributes,
    encode_attributes,
    encode_shared,
    encode_span,
    encode_text_attribute,
)
from mcpgen.runtime.telemetry.trace_context import SAMPLED
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest

if TYPE_CHECKING:
    from mcpgen.runtime.telemetry.observer import Observation
    from mcpgen.runtime.telemetry.trace_context import SpanContext
    from mcpgen.runtime.upstream.http.messages import HttpResponse, Sender

MAX_URL: Final = 2048  # characters
_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"}
)
_PARENT_LENGTH: Final = len("traceparent")
_VARIABLE: Final = re.compile(r"\{[^{}]*\}")


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
            attributes = () if observer.spans.samples_all else _identify(request.method, url)
            context = observer.spans.begin(observation.context, request.method, CLIENT, attributes)
            if is_api and self._is_trusted:
                request = _add_trace_context(request, context)
        start_ns, began = time.time_ns(), time.perf_counter()
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
            seconds = time.perf_counter() - began
            observation.upstream_seconds += seconds
            if is_api:
                observation.attempts += 1
                observation.status = status
            ended = (context, start_ns, seconds, status, error_type, resends)
            self._record(request, url, template, *ended)

    def _record(
        self,
        request: HttpRequest,
        url: str,
        template: str,
        context: SpanContext | None,
        start_ns: int,
        seconds: float,
        status: int,
        error_type: str,
        resends: int,
    ) -> None:
        observation = self._observation
        observer = observation.observer
        if status >= 400:
            error_type = str(status)
        shared, attributes = _describe(request.method, url, template, status, error_type)
        if observer.metrics is not None:
            observer.metrics.attempts.record(seconds, attributes)
            if resends:
                observer.metrics.count_retry(_identify(request.method, url))
        if observer.spans is None or context is None or not context.flags & SAMPLED:
            return
        if observer.captures_content:
            own = encode_text_attribute("url.full", mask(request.url)[:MAX_URL])
        else:
            own = _encode_hidden_url(url, template)
        if resends:
            own += encode_attributes((("http.request.resend_count", resends),))
        observation.add_span(
            encode_span(
                context,
                observation.context,
                shared,
                start_ns,
                start_ns + int(seconds * 1e9),
                own,
                has_failed=bool(error_type),
            )
        )


def _add_trace_context(request: HttpRequest, context: SpanContext) -> HttpRequest:
    """Add `traceparent` and `tracestate`, unless an argument of the tool sets them."""
    for name, _ in request.headers:
        if len(name) == _PARENT_LENGTH and name.lower() == "traceparent":
            return request
    headers = (*request.headers, ("traceparent", context.format_parent()))
    if context.state:
        headers = (*headers, ("tracestate", context.state))
    return HttpRequest(  # `dataclasses.replace` takes four times as long
        request.method,
        request.url,
        headers,
        request.body,
        request.max_response_bytes,
        request.stream_seconds,
        request.client_certificate,
        request.private_addresses_setting,
    )


@lru_cache(maxsize=1024)
def _identify(method: str, url: str) -> Attributes:
    """Return the method and the server of a request."""
    parts = urlsplit(url)
    return (
        ("http.request.method", method if method in _METHODS else "_OTHER"),
        ("server.address", parts.hostname or ""),
        ("server.port", parts.port or (443 if parts.scheme == "https" else 80)),
    )


@lru_cache(maxsize=1024)
def _describe(
    method: str, url: str, template: str, status: int, error_type: str
) -> tuple[bytes, Attributes]:
    """Return name, kind and attributes of a span, encoded, and the attributes of the duration."""
    attributes: list[tuple[str, Any]] = [*_identify(method, url)]
    if status:
        attributes.append(("http.response.status_code", status))
        attributes.append(("network.protocol.version", "1.1"))
    if error_type:
        attributes.append(("error.type", error_type))
    name = f"{method if method in _METHODS else 'HTTP'} {template}".rstrip()
    templates = (("url.template", template),) if template else ()
    return encode_shared(name, CLIENT, (*attributes, *templates)), tuple(attributes)


@lru_cache(maxsize=1024)
def _encode_hidden_url(url: str, template: str) -> bytes:
    path = _VARIABLE.sub("REDACTED", template.partition("?")[0].partition("#")[0])
    parts = urlsplit(url)
    text = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{path}"
    return encode_text_attribute("url.full", text[:MAX_URL])

"""Faults of HTTP+SSE, the transport of 2024-11-05."""

from tests.validate.servers.http import HttpServer


class NoEndpointEvent(HttpServer):
    """The stream begins with a comment instead of `endpoint`; the path must be known."""

    def format_sse_endpoint(self, session):
        return b"event: ready\ndata: {}\n\n" + super().format_sse_endpoint(session)


class UnnamedEvents(HttpServer):
    """Messages are events of another name."""

    def format_sse_message(self, data):
        return b"event: response\ndata: " + data + b"\n\n"


class OriginUnchecked(HttpServer):
    """Serves pages of any site."""

    def check_origin(self, request):
        return None


class EndpointElsewhere(HttpServer):
    """The endpoint to post to does not exist."""

    def format_sse_endpoint(self, session):
        return super().format_sse_endpoint(session).replace(b"/messages", b"/post")

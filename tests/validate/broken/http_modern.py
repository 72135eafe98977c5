"""Faults of Streamable HTTP of 2026-07-28: routing headers, statuses, streams."""

from tests.validate.broken.modern import ManyTools
from tests.validate.servers.core import HEADER_MISMATCH, METHOD_NOT_FOUND, MODERN, RpcError
from tests.validate.servers.http import HttpServer, Reply


class HeaderUnchecked(HttpServer):
    """Base of servers that do not check one header."""

    header = ""
    must_occur = False  # a missing header is refused, a wrong one is accepted

    def check_header(self, request, name, value):
        if name != self.header or (self.must_occur and not request.count(name)):
            super().check_header(request, name, value)


class VersionMismatchAccepted(HeaderUnchecked):
    """Accepts a version header unlike the body."""

    header, must_occur = "mcp-protocol-version", True


class MissingMethodAccepted(HttpServer):
    """Accepts requests without `Mcp-Method`."""

    def check_header(self, request, name, value):
        if name != "mcp-method" or request.count(name):
            super().check_header(request, name, value)


class MethodMismatchAccepted(HeaderUnchecked):
    """Accepts a `Mcp-Method` unlike the body."""

    header, must_occur = "mcp-method", True


class MissingNameAccepted(HttpServer):
    """Accepts requests without `Mcp-Name`."""

    def check_header(self, request, name, value):
        if name != "mcp-name" or request.count(name):
            super().check_header(request, name, value)


class NameMismatchAccepted(HeaderUnchecked):
    """Accepts a `Mcp-Name` unlike the body."""

    header, must_occur = "mcp-name", True


class MissingVersionAccepted(HttpServer):
    """Accepts modern requests without version header."""

    def check_header(self, request, name, value):
        if name != "mcp-protocol-version" or request.count(name):
            super().check_header(request, name, value)


class NameNotDecoded(HttpServer):
    """Does not decode `=?base64?...?=`."""

    def decode_header(self, value):
        return value


class InvalidBase64Accepted(HttpServer):
    """Accepts headers in base64 without decoding them."""

    def is_same(self, name, sent, value):
        return sent == value or sent == "undecodable"

    def decode_header(self, value):
        try:
            return super().decode_header(value)
        except RpcError:
            return "undecodable"


class CaseInsensitiveValues(HttpServer):
    """Ignores the case of header values."""

    def is_same(self, name, sent, value):
        return str(sent).lower() == str(value).lower()


class CaseSensitiveNames(HttpServer):
    """Knows the names of headers in one spelling alone."""

    async def handle(self, request, connection):
        if "Mcp-Method" not in request.spellings and "mcp-method" in request.spellings:
            request.headers = [pair for pair in request.headers if pair[0] != "mcp-method"]
        await super().handle(request, connection)


class MissingParameterAccepted(HttpServer):
    """Accepts calls without `Mcp-Param-*`."""

    def check_parameter(self, request, header, value):
        if request.count(header):
            super().check_parameter(request, header, value)


class ParameterMismatchAccepted(HttpServer):
    """Accepts a `Mcp-Param-*` unlike the argument."""

    def check_parameter(self, request, header, value):
        if not request.count(header):
            super().check_parameter(request, header, value)


class ParameterMismatchOfManyTools(ManyTools, ParameterMismatchAccepted):
    """Accepts a `Mcp-Param-*` unlike the argument, in the last of many tools."""


class RefusalsWithoutId(HttpServer):
    """Refuses requests that it has read with errors without an id."""

    def make_refusal(self, status, error, request_id=None):
        return super().make_refusal(status, error)


class ParameterBase64Unchecked(HttpServer):
    """Accepts a `Mcp-Param-*` in base64 that cannot be decoded."""

    def check_parameter(self, request, header, value):
        try:
            super().check_parameter(request, header, value)
        except RpcError as error:
            if "base64" not in error.message:
                raise


class NullParameterExpected(HttpServer):
    """Requires `Mcp-Param-*` for arguments that are absent."""

    def check_parameter(self, request, header, value):
        if value is None and not request.count(header):
            raise RpcError(HEADER_MISMATCH, f"missing header {header}")
        super().check_parameter(request, header, value)


class NumbersAsText(HttpServer):
    """Compares numbers in headers as text."""

    def check_parameter(self, request, header, value):
        super().check_parameter(request, header, None if value is None else str(value))


class MismatchCode(HttpServer):
    """Refuses headers with another code."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        if error.code == HEADER_MISMATCH:
            response["error"]["code"] = -32600
        return response


class MismatchStatus(HttpServer):
    """Refuses headers with the status 200."""

    def get_error_status(self, code):
        return 200 if code == HEADER_MISMATCH else super().get_error_status(code)


class UnknownMethodStatus(HttpServer):
    """Refuses an unknown method with the status 200."""

    def get_error_status(self, code):
        return 200 if code == METHOD_NOT_FOUND else super().get_error_status(code)


class UnknownMethodCode(HttpServer):
    """Refuses an unknown method with another code."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        if error.code == METHOD_NOT_FOUND:
            response["error"]["code"] = -32603
        return response

    def get_error_status(self, code):
        return 404 if code == -32603 else super().get_error_status(code)


class MissingMetaStatus(HttpServer):
    """Refuses requests without `_meta` with the status 200."""

    def get_error_status(self, code):
        return 200 if code == -32602 else super().get_error_status(code)


class UnsupportedVersionStatus(HttpServer):
    """Refuses an unknown version with the status 200."""

    def get_error_status(self, code):
        return 200 if code == -32022 else super().get_error_status(code)


class MissingCapabilityStatus(HttpServer):
    """Refuses a client without a capability with the status 200."""

    def get_error_status(self, code):
        return 200 if code == -32021 else super().get_error_status(code)


class StopsAfterDisconnect(HttpServer):
    """Answers nobody any more after a client closed a stream."""

    has_lost_client = False

    async def handle(self, request, connection):
        if self.has_lost_client:
            await connection.reply(Reply(503))
            return
        await super().handle(request, connection)
        self.has_lost_client = self.has_lost_client or connection.is_closed


class MintsSessions(HttpServer):
    """Sends a session id with results of 2026-07-28."""

    def make_reply(self, status, message, stream):
        reply = super().make_reply(status, message, stream)
        if stream.is_modern:
            reply.headers.append(("Mcp-Session-Id", self.make_session_id()))
        return reply


class GetServed(HttpServer):
    """A server of 2026-07-28 alone that serves GET."""

    revisions = (MODERN,)

    async def get(self, request, connection):
        return Reply(200, b'{"status": "ok"}')


class UnrelatedNotifications(HttpServer):
    """Sends notifications of a subscription on the stream of another request."""

    def call_count(self, call, arguments):
        if call.is_modern:
            yield {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        return (yield from super().call_count(call, arguments))


class BufferedEvents(HttpServer):
    """Streams lack `X-Accel-Buffering: no`."""

    async def send_events(self, stream, connection, session=None, position=0):
        begin = connection.begin

        async def begin_without_hint(status, headers):
            await begin(status, [pair for pair in headers if pair[0] != "X-Accel-Buffering"])

        connection.begin = begin_without_hint
        await super().send_events(stream, connection, session, position)

"""Faults in JSON-RPC itself: ids, envelopes, notifications, batches, encoding."""

from tests.validate.servers.core import METHOD_NOT_FOUND, PARSE_ERROR, RpcError
from tests.validate.servers.features import Server


class NoJsonrpc(Server):
    """Results lack `jsonrpc`."""

    def make_response(self, call, result):
        response = super().make_response(call, result)
        del response["jsonrpc"]
        return response


class ChangedTextIds(Server):
    """Answers a request whose id is a string with another id."""

    def encode(self, message):
        is_response = isinstance(message, dict) and "method" not in message
        if is_response and isinstance(message.get("id"), str):
            message = {**message, "id": 0}
        return super().encode(message)


class IdsAsText(Server):
    """Returns numeric ids as strings, in responses to one method."""

    def make_response(self, call, result):
        response = super().make_response(call, result)
        if call.method == "prompts/get":
            response["id"] = str(call.id)
        return response


class AllIdsAsText(Server):
    """Returns every id as a string, that of the handshake too."""

    def make_response(self, call, result):
        return {**super().make_response(call, result), "id": str(call.id)}


class NullIdOfReadableRequests(Server):
    """Answers an unknown method with the id null."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        if error.code == METHOD_NOT_FOUND:
            response["id"] = None
        return response


class NullIdOfUnreadableRequests(Server):
    """Answers text that is not JSON with the id null, which the schema forbids."""

    def make_error(self, request_id, error):
        return {"id": None, **super().make_error(request_id, error)}


class ErrorBesideResult(Server):
    """Results have an `error` beside them, null."""

    def make_response(self, call, result):
        return {**super().make_response(call, result), "error": None}


class ErrorsWithoutMessage(Server):
    """Errors lack `message`."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        del response["error"]["message"]
        return response


class ErrorCodesAsText(Server):
    """The codes of errors are names."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        response["error"]["code"] = "ERR_" + str(error.code)
        return response


class AnswersNotifications(Server):
    """Answers every notification with an empty result."""

    def receive_notification(self, message, session):
        yield from super().receive_notification(message, session)
        yield {"jsonrpc": "2.0", "id": 0, "result": {}}


class RefusesUnknownNotifications(Server):
    """Answers a notification that it does not know with an error."""

    def receive_notification(self, message, session):
        yield from super().receive_notification(message, session)
        if message["method"] not in ("notifications/initialized", "notifications/cancelled"):
            yield self.make_error(None, RpcError(METHOD_NOT_FOUND, "unknown notification"))


class ReusedRequestIds(Server):
    """Sends two pings with the same id before the result of a tool call."""

    def call_add(self, call, arguments):
        yield {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
        yield {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
        return super().call_add(call, arguments)


class NullRequestId(Server):
    """Sends a ping with the id null."""

    def call_add(self, call, arguments):
        yield {"jsonrpc": "2.0", "id": None, "method": "ping"}
        return super().call_add(call, arguments)


class NoBatches(Server):
    """Refuses batches of 2025-03-26."""

    def allows_batches(self, session):
        return False


class SendsBatches(Server):
    """Sends a response in an array."""

    def encode(self, message):
        raw = super().encode(message)
        is_completion = isinstance(message, dict) and "completion" in message.get("result", ())
        return b"[" + raw + b"]" if is_completion else raw


class NotificationsWithId(Server):
    """Progress notifications have an id."""

    def report_progress(self, call, step, steps):
        for notification in super().report_progress(call, step, steps):
            yield {**notification, "id": f"n-{call.id}-{step}"}


class UnknownMethodCode(Server):
    """The error of an unknown method has another code."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        if error.message == "unknown method":
            response["error"]["code"] = -32600
        return response


class UnknownMethodAccepted(Server):
    """Answers any method with an empty result."""

    def run(self, call):
        try:
            return (yield from super().run(call))
        except RpcError as error:
            if error.message == "unknown method":
                return {}
            raise


class ParseErrorCode(Server):
    """The error of a line that is not JSON has another code."""

    def make_error(self, request_id, error):
        if error.code == PARSE_ERROR:
            error = RpcError(-32603, "Expecting value: line 1 column 1 (char 0)")
        return super().make_error(request_id, error)


class DropsConcurrentRequests(Server):
    """Forgets a request while another one is running."""

    is_busy = False

    def run(self, call):
        if self.is_busy:
            yield 3600.0
        self.is_busy = True
        try:
            yield 0.03
            return (yield from super().run(call))
        finally:
            self.is_busy = False


class Latin1(Server):
    """Writes text that is not ASCII in Latin-1."""

    def read_known(self, uri):
        found = super().read_known(uri)
        return {**found, "text": "Grüße"} if uri == "memo://empty" else found

    def encode(self, message):
        return super().encode(message).replace("Grüße".encode(), "Grüße".encode("latin-1"))


class InvalidMetaKeys(Server):
    """The `_meta` of tool results has a key that the grammar of keys forbids."""

    def call_add(self, call, arguments):
        return {**super().call_add(call, arguments), "_meta": {"-cost per call-": 1}}

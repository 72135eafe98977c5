"""Faults while a request runs: cancellation, progress, logs, and requests to the client."""

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import Server, make_text


class RespondsAfterCancellation(Server):
    """Ignores cancellations, so that the response follows."""

    def cancel(self, running):
        pass


class ErrorAfterCancellation(Server):
    """Answers a cancelled request with an error."""

    def receive_notification(self, message, session):
        running = set(session.running)
        yield from super().receive_notification(message, session)
        if running - set(session.running):
            request_id = message["params"]["requestId"]
            yield self.make_error(request_id, RpcError(-32603, "the request was cancelled"))


class DecreasingProgress(Server):
    """Progress goes from 100 down."""

    def report_progress(self, call, step, steps):
        yield from super().report_progress(call, 100 - step, 100)


class RepeatedProgress(Server):
    """Progress stays the same."""

    def report_progress(self, call, step, steps):
        yield from super().report_progress(call, 1, steps)


class ProgressAfterResponse(Server):
    """Reports progress once more after the response."""

    def receive_request(self, message, session):
        yield from super().receive_request(message, session)
        params = message.get("params") or {}
        token = (params.get("_meta") or {}).get("progressToken")
        if token is not None and params.get("name") == "count":
            yield self.notify("notifications/progress", {"progressToken": token, "progress": 99})


class ChangedProgressToken(Server):
    """Progress has another token than the request."""

    def report_progress(self, call, step, steps):
        if call.progress_token is not None:
            params = {"progressToken": f"token-{call.progress_token}", "progress": step}
            yield self.notify("notifications/progress", params)


class UnaskedProgress(Server):
    """Reports progress that nobody asked for, with a token of its own."""

    def report_progress(self, call, step, steps):
        params = {"progressToken": f"own-{call.id}", "progress": step, "total": steps}
        yield self.notify("notifications/progress", params)


class UndeclaredLogging(Server):
    """Sends log messages without declaring `logging`."""

    def get_capabilities(self, revision):
        found = super().get_capabilities(revision)
        del found["logging"]
        return found


class LogsBelowLevel(Server):
    """Sends log messages of any level, whatever level the client set."""

    def wants_log(self, call, level):
        return call.log_level is not None


class LogsUnasked(Server):
    """Sends log messages for requests that ask for none."""

    def wants_log(self, call, level):
        return True


class UnknownLevelAccepted(Server):
    """Accepts log levels that do not exist."""

    def refuse_level(self, call):
        return {}

    def check_log_level(self, call):
        if call.log_level not in (None, "info"):
            call.log_level = "info"


class UndeclaredSampling(Server):
    """Asks every client for a sample, also one that did not declare `sampling`."""

    def call_add(self, call, arguments):
        content = make_text("What is 2 + 3?")
        params = {"messages": [{"role": "user", "content": content}], "maxTokens": 10}
        request = {"jsonrpc": "2.0", "id": f"sample-{call.id}", "method": "sampling/createMessage"}
        yield {**request, "params": params}
        return super().call_add(call, arguments)


class UndeclaredRoots(Server):
    """Asks every client for its roots."""

    def call_add(self, call, arguments):
        yield {"jsonrpc": "2.0", "id": f"roots-{call.id}", "method": "roots/list"}
        return super().call_add(call, arguments)


class UndeclaredUrlElicitation(Server):
    """Asks clients with forms alone to open a URL."""

    def get_form(self, call):
        url = {"url": "https://example.com/name", "elicitationId": f"e-{call.id}"}
        return {"mode": "url", "message": "Please enter your name.", **url}


class ElicitationWithoutMessage(Server):
    """Asks the user without telling what for."""

    def get_form(self, call):
        form = super().get_form(call)
        del form["message"]
        return form


class AsksForPassword(Server):
    """Asks for a password in a form."""

    def get_form(self, call):
        schema = {
            "type": "object",
            "properties": {"password": {"type": "string", "title": "Password"}},
            "required": ["password"],
        }
        form = {"message": "Please enter your password.", "requestedSchema": schema}
        return {**super().get_form(call), **form}

    def require_input(self, call):
        result = super().require_input(call)
        result["inputRequests"]["name"]["params"] = self.get_form(call)
        return result


class UndeclaredSamplingTools(Server):
    """Sends tools with a sampling request to clients without `sampling.tools`."""

    def call_add(self, call, arguments):
        if "sampling" in call.capabilities:
            message = {"role": "user", "content": make_text("What is 2 + 3?")}
            tools = [{"name": "add", "inputSchema": {"type": "object"}}]
            params = {"messages": [message], "maxTokens": 10, "tools": tools}
            yield self.ask(call.session, "sampling/createMessage", params)
        return super().call_add(call, arguments)


class UrlElicitationErrorWithoutData(Server):
    """Requires a URL to be opened first, and does not tell which."""

    def greet_legacy_user(self, call):
        raise RpcError(-32042, "please sign in first")


class CancelsOwnWork(Server):
    """Cancels the request of the client while it answers it."""

    def call_add(self, call, arguments):
        yield self.notify("notifications/cancelled", {"requestId": call.id})
        return super().call_add(call, arguments)


class SetLevelUnknown(Server):
    """Declares logging, and does not know `logging/setLevel`."""

    def logging_setlevel(self, call):
        raise RpcError(-32601, "unknown method")


class ElicitsPlainHttp(Server):
    """Asks the user to open a URL without TLS."""

    def get_form(self, call):
        if "url" not in call.capabilities["elicitation"]:
            return super().get_form(call)
        url = {"url": "http://login.example.com/name", "elicitationId": f"e-{call.id}"}
        return {"mode": "url", "message": "Please enter your name.", **url}


class SamplingWithContext(Server):
    """Asks for a sample with the context of all servers."""

    def call_add(self, call, arguments):
        if "sampling" in call.capabilities:
            message = {"role": "user", "content": make_text("What is 2 + 3?")}
            params = {"messages": [message], "maxTokens": 10, "includeContext": "allServers"}
            yield self.ask(call.session, "sampling/createMessage", params)
        return super().call_add(call, arguments)

"""Faults of Streamable HTTP in the revisions with sessions, and of both eras."""

import json

from tests.validate.servers.core import INVALID_REQUEST, RpcError
from tests.validate.servers.http import EVENTS, HttpServer, HttpSession, Reply


class OriginUnchecked(HttpServer):
    """Serves pages of any site."""

    def check_origin(self, request):
        return None


class OriginRefusedWith400(HttpServer):
    """Refuses pages of other sites with another status."""

    def check_origin(self, request):
        return Reply(400) if super().check_origin(request) else None


class NotificationsWith200(HttpServer):
    """Accepts notifications with the status 200."""

    def accept_notification(self):
        return Reply(200)


class NotificationsWithBody(HttpServer):
    """Accepts notifications with 202 and a body."""

    def accept_notification(self):
        return Reply(202, json.dumps({"status": "accepted"}).encode())


class RefusalsWith200(HttpServer):
    """Refuses what is no message with the status 200."""

    def make_refusal(self, status, error, request_id=None):
        return super().make_refusal(200, error, request_id)

    def make_reply(self, status, message, stream):
        return super().make_reply(200, message, stream)


class ResponsesAsText(HttpServer):
    """Responses have the content type text/plain."""

    def make_reply(self, status, message, stream):
        return Reply(status, self.encode(message), "text/plain", stream.headers)


class GetAsJson(HttpServer):
    """Answers GET with a page of JSON."""

    async def get(self, request, connection):
        return Reply(200, b'{"status": "ok"}')


class GetNotFound(HttpServer):
    """Does not know GET."""

    def find_route(self, request):
        route = super().find_route(request)
        return None if request.path == "/mcp" and request.method == "GET" else route


class ResponseOnGetStream(HttpServer):
    """Sends responses on the open GET stream too."""

    def route(self, message, stream, session):
        super().route(message, stream, session)
        for listening in getattr(session, "listening", ()):
            if "method" not in message:
                listening.add(message)


class Broadcast(HttpServer):
    """Sends notifications on every stream of the session."""

    def route(self, message, stream, session):
        super().route(message, stream, session)
        for listening in getattr(session, "listening", ()):
            if "method" in message:
                listening.add(message)


class SessionConfusion(HttpServer):
    """Sends notifications on the GET streams of all sessions."""

    def route(self, message, stream, session):
        super().route(message, stream, session)
        if isinstance(session, HttpSession) and "method" in message:
            for other in self.sessions.values():
                for listening in other.listening:
                    if other is not session:
                        listening.add(message)


class SameEventIds(HttpServer):
    """The ids of events begin anew in each stream."""

    prefers_events = True

    def make_event_id(self, stream, position):
        return str(position)


class ReplaysEverything(HttpServer):
    """Resuming a stream replays the messages of all streams."""

    prefers_events = True

    def find_event(self, session, event_id):
        stream, _ = super().find_event(session, event_id)
        if stream is None:
            return None, 0
        merged = session.open_stream()
        for each in session.streams[:-1]:
            merged.messages += each.messages
        merged.end()
        return merged, 0


class SessionIdWithSpaces(HttpServer):
    """Session ids contain characters that are not allowed."""

    def make_session_id(self):
        return f"session {super().make_session_id()} é"


class CountedSessionIds(HttpServer):
    """Session ids can be guessed."""

    sessions_made = 0

    def make_session_id(self):
        self.sessions_made += 1
        return f"session-{self.sessions_made}"


class MissingSessionStatus(HttpServer):
    """Refuses a request without session id with another status."""

    def refuse_missing_session(self, request):
        return self.make_refusal(404, RpcError(INVALID_REQUEST, "missing Mcp-Session-Id"))


class UnknownSessionAccepted(HttpServer):
    """Serves any session id, also that of a session which has ended."""

    def refuse_session(self, request):
        session = HttpSession(request.get("mcp-session-id"))
        session.revision = "2025-11-25"
        self.sessions[session.id] = session
        return session


class UnknownSessionStatus(HttpServer):
    """Refuses an unknown session with the status 400."""

    def refuse_session(self, request):
        return self.make_refusal(400, RpcError(INVALID_REQUEST, "unknown session"))


class EndedSessionsLive(HttpServer):
    """Accepts DELETE and keeps the session."""

    def end_session(self, session):
        pass


class AnyVersionHeader(HttpServer):
    """Ignores the version header."""

    def check_version(self, request, session):
        return None


class VersionHeaderRequired(HttpServer):
    """Refuses requests without version header, although the session tells the version."""

    def check_version(self, request, session):
        if not request.get("mcp-protocol-version"):
            return self.make_refusal(400, RpcError(INVALID_REQUEST, "missing version header"))
        return super().check_version(request, session)


class EndlessStreams(HttpServer):
    """Leaves event streams open after the response."""

    async def send_events(self, stream, connection, session=None, position=0):
        await super().send_events(stream, connection, session, position)
        while not connection.is_closed:
            stream.changed.clear()
            await connection.wait(stream.changed)


class NoResponseOnStream(HttpServer):
    """Closes event streams before the response."""

    async def send_events(self, stream, connection, session=None, position=0):
        stream.messages = [message for message in stream.messages if "method" in message]
        stream.add = lambda message: (
            None if "method" not in message else type(stream).add(stream, message)
        )
        await super().send_events(stream, connection, session, position)


class ClosesStreamsOfCalls(HttpServer):
    """Closes the event stream of a call after its first progress; nothing can be resumed."""

    async def send_events(self, stream, connection, session=None, position=0):
        first = stream.messages[0] if stream.messages else {}
        if first.get("method") != "notifications/progress":
            await super().send_events(stream, connection, session, position)
            return
        await connection.begin(200, [("Content-Type", EVENTS)])
        await connection.write(b"data: " + self.encode(first) + b"\n\n")


class EventsWithoutJson(HttpServer):
    """Sends events whose data is no message."""

    def format_event(self, stream, position, data):
        event = super().format_event(stream, position, data)
        return b"data: a step is done\n\n" + event if b"notifications/progress" in data else event


class NoPrimingEvent(HttpServer):
    """Streams begin without an event that could be resumed from."""

    def format_event(self, stream, position, data):
        return super().format_event(stream, position, data) if data else b""


class BatchesRefused(HttpServer):
    """Refuses batches of 2025-03-26."""

    def allows_batches(self, session):
        return False


class EventsForNotifications(HttpServer):
    """Answers notifications with an event stream."""

    def accept_notification(self):
        return Reply(200, b": accepted\n\n", EVENTS)

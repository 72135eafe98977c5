"""Faults of servers that require an access token."""

import json

from tests.validate.servers.http import HttpServer, Reply

TOKEN = "token-9b1f7c44e2"


class Protected(HttpServer):
    """The correct server that requires a token."""

    token = TOKEN


class NoMetadataInChallenge(Protected):
    """The challenge does not name the metadata."""

    def get_challenge(self, request, has_token):
        return "Bearer"


class NoChallenge(Protected):
    """A 401 response has no challenge, and the metadata is nowhere."""

    def check_token(self, request):
        return Reply(401) if super().check_token(request) else None

    def find_route(self, request):
        return None if request.path.startswith("/.well-known/") else super().find_route(request)


class NoResourceMetadata(Protected):
    """The server has the metadata of an authorization server, and none of the resource."""

    def get_challenge(self, request, has_token):
        return 'Bearer scope="mcp"'

    def find_route(self, request):
        if request.path == "/.well-known/oauth-authorization-server":
            return self.get_issuer
        return None if request.path.startswith("/.well-known/") else super().find_route(request)

    async def get_issuer(self, request, connection):
        """Serve the metadata of an authorization server."""
        return Reply(200, json.dumps({"issuer": f"http://{request.get('host')}"}).encode())


class NoAuthorizationServers(Protected):
    """The metadata names no authorization server."""

    def get_metadata(self, request):
        return {**super().get_metadata(request), "authorization_servers": []}


class MetadataNotFound(Protected):
    """The metadata is not where the challenge says."""

    def find_route(self, request):
        return None if request.path.startswith("/.well-known/") else super().find_route(request)


class MetadataOfAnotherServer(Protected):
    """The metadata is that of another resource."""

    def get_metadata(self, request):
        return {**super().get_metadata(request), "resource": "https://other.example.com/mcp"}


class AnyToken(Protected):
    """Accepts any token."""

    def accepts_token(self, request, sent):
        return sent.startswith("Bearer ")


class TokenInQuery(Protected):
    """Accepts the token in the query."""

    def accepts_token(self, request, sent):
        return super().accepts_token(request, sent) or f"access_token={self.token}" in request.query


class MissingTokenWith403(Protected):
    """Refuses a missing token with 403."""

    def check_token(self, request):
        reply = super().check_token(request)
        return Reply(403, headers=reply.headers) if reply else None


class InvalidTokenWith400(Protected):
    """Refuses an invalid token with 400."""

    def check_token(self, request):
        reply = super().check_token(request)
        if reply and request.get("authorization"):
            return Reply(400, headers=reply.headers)
        return reply


class SessionAsCredential(Protected):
    """Requires no token from who knows a session id."""

    def accepts_token(self, request, sent):
        return super().accepts_token(request, sent) or (
            not sent and request.get("mcp-session-id") in self.sessions
        )


class NoScopeInChallenge(Protected):
    """The challenge does not say which scope is required."""

    def get_challenge(self, request, has_token):
        return super().get_challenge(request, has_token).replace(', scope="mcp"', "")


class OfflineAccess(Protected):
    """Offers the scope `offline_access`."""

    def get_metadata(self, request):
        return {**super().get_metadata(request), "scopes_supported": ["mcp", "offline_access"]}


class TokenInLog(Protected):
    """Logs the access token of the client."""

    def call_count(self, call, arguments):
        yield from self.log(call, "info", f"token {self.token}")
        return (yield from super().call_count(call, arguments))

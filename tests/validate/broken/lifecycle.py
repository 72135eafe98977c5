"""Faults of handshake, discovery, ping and declared capabilities."""

from tests.validate.servers.core import LEGACY, METHOD_NOT_FOUND, MODERN, RpcError
from tests.validate.servers.features import Server


class EchoesVersion(Server):
    """Agrees to any version."""

    def negotiate(self, asked):
        return asked


class OffersOldestVersion(Server):
    """Offers its oldest version where the requested one is unknown."""

    def negotiate(self, asked):
        return asked if asked in LEGACY else LEGACY[0]


class NoServerInfo(Server):
    """The result of `initialize` lacks `serverInfo`."""

    def describe(self, revision):
        result = super().describe(revision)
        del result["serverInfo"]
        return result


class NoServerVersion(Server):
    """`serverInfo` lacks `version`."""

    def describe(self, revision):
        return {**super().describe(revision), "serverInfo": {"name": "reference"}}


class NoCapabilities(Server):
    """The result of `initialize` lacks `capabilities`."""

    def describe(self, revision):
        result = super().describe(revision)
        del result["capabilities"]
        return result


class RequestBeforeInitialized(Server):
    """Asks for roots before the client has said that it is initialized."""

    def initialize(self, call):
        result = super().initialize(call)
        if "roots" in call.session.capabilities:
            yield {"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}
        return result


class PingUnknown(Server):
    """Does not know `ping`."""

    def ping(self, call):
        raise RpcError(METHOD_NOT_FOUND, "unknown method")


class PingWithResult(Server):
    """Answers `ping` with more than an empty result."""

    def ping(self, call):
        return {"status": "ok"}


class Undeclared(Server):
    """Base of servers that serve a feature without declaring it."""

    feature = ""

    def get_capabilities(self, revision):
        found = super().get_capabilities(revision)
        found.pop(self.feature, None)
        return found

    def get_served(self, revision):
        return {**super().get_served(revision), self.feature: {}}


class UndeclaredTools(Undeclared):
    """Serves tools without declaring them."""

    feature = "tools"


class UndeclaredResources(Undeclared):
    """Serves resources without declaring them."""

    feature = "resources"


class UndeclaredPrompts(Undeclared):
    """Serves prompts without declaring them."""

    feature = "prompts"


class UndeclaredCompletions(Undeclared):
    """Completes arguments without declaring it."""

    feature = "completions"


class DeclaredToolsMissing(Server):
    """Declares tools, and does not know `tools/list`."""

    def tools_list(self, call):
        raise RpcError(METHOD_NOT_FOUND, "unknown method")


class DeclaredResourcesMissing(Server):
    """Declares resources, and does not know `resources/list`."""

    def resources_list(self, call):
        raise RpcError(METHOD_NOT_FOUND, "unknown method")


class DeclaredPromptsMissing(Server):
    """Declares prompts, and does not know `prompts/list`."""

    def prompts_list(self, call):
        raise RpcError(METHOD_NOT_FOUND, "unknown method")


class UndeclaredListChanged(Server):
    """Sends `list_changed`, which it does not declare."""

    def get_capabilities(self, revision):
        return {**super().get_capabilities(revision), "tools": {}}

    def call_add(self, call, arguments):
        yield {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        return super().call_add(call, arguments)


class DiscoverWithoutVersions(Server):
    """The result of `server/discover` lacks `supportedVersions`."""

    def server_discover(self, call):
        result = super().server_discover(call)
        del result["supportedVersions"]
        return result


class DiscoverWithoutCapabilities(Server):
    """The result of `server/discover` lacks `capabilities`."""

    def server_discover(self, call):
        result = super().server_discover(call)
        del result["capabilities"]
        return result


class NoHintInInitialize(Server):
    """A server of 2026-07-28 alone whose answer to `initialize` does not say so."""

    revisions = (MODERN,)

    def refuse_initialize(self):
        return RpcError(METHOD_NOT_FOUND, "unknown method")

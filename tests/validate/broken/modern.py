"""Faults of 2026-07-28 alone: `_meta`, results, cache hints, input requests, subscriptions."""

from tests.validate.servers.core import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    RpcError,
)
from tests.validate.servers.features import READ_ONLY, Server, make_text


class NoResultType(Server):
    """Results lack `resultType`."""

    def add_envelope(self, call, result):
        result = super().add_envelope(call, result)
        if result["resultType"] == "complete":
            del result["resultType"]
        return result


class UnknownResultType(Server):
    """Results of tools have a `resultType` that no specification names."""

    def call_add(self, call, arguments):
        return {**super().call_add(call, arguments), "resultType": "partial"}


class NoServerInfoInMeta(Server):
    """The `_meta` of results does not name the server."""

    def add_envelope(self, call, result):
        result = super().add_envelope(call, result)
        del result["_meta"]
        return result


class NoCacheHints(Server):
    """Lists lack `ttlMs` and `cacheScope`."""

    def get_cache_hints(self, call):
        return {}


class UnknownCacheScope(Server):
    """`cacheScope` is neither public nor private."""

    def get_cache_hints(self, call):
        return {"ttlMs": 60000, "cacheScope": "shared"}


class NegativeTtl(Server):
    """`ttlMs` is negative."""

    def get_cache_hints(self, call):
        return {"ttlMs": -1, "cacheScope": "public"}


class ScopeVariesByPage(Server):
    """The pages of a list have different cache scopes."""

    def get_cache_hints(self, call):
        return {"ttlMs": 60000, "cacheScope": "private" if call.params.get("cursor") else "public"}


class VersionNotRequired(Server):
    """Serves requests whose `_meta` lacks the version."""

    def open_modern_call(self, message, meta, session):
        return super().open_modern_call(
            message, {META + "protocolVersion": MODERN, **meta}, session
        )


class CapabilitiesNotRequired(Server):
    """Serves requests whose `_meta` lacks the client's capabilities."""

    def open_modern_call(self, message, meta, session):
        return super().open_modern_call(message, {META + "clientCapabilities": {}, **meta}, session)


class MetaRefusedAsUnknownMethod(Server):
    """Refuses requests without `_meta` with a wrong code."""

    def open_modern_call(self, message, meta, session):
        try:
            return super().open_modern_call(message, meta, session)
        except RpcError as error:
            if error.message.startswith("missing"):
                raise RpcError(-32601, "unknown method") from None
            raise


class ClientInfoRequired(Server):
    """Refuses requests whose `_meta` lacks the optional `clientInfo`."""

    def open_modern_call(self, message, meta, session):
        call = super().open_modern_call(message, meta, session)
        if META + "clientInfo" not in meta:
            raise RpcError(INVALID_PARAMS, "missing `clientInfo` in `_meta`")
        return call


class ClientInfoInsteadOfCapabilities(ClientInfoRequired):
    """Requires the optional `clientInfo`, and not the client's capabilities."""

    def open_modern_call(self, message, meta, session):
        return super().open_modern_call(message, {META + "clientCapabilities": {}, **meta}, session)


class AnyVersionAccepted(Server):
    """Serves requests of versions that do not exist."""

    def open_modern_call(self, message, meta, session):
        if isinstance(meta.get(META + "protocolVersion"), str):
            meta = {**meta, META + "protocolVersion": MODERN}
        return super().open_modern_call(message, meta, session)


class UnsupportedVersionCode(Server):
    """Refuses an unknown version as an invalid param."""

    def refuse_version(self, version):
        return RpcError(INVALID_PARAMS, "unsupported protocol version")


class UnsupportedVersionWithoutData(Server):
    """Refuses an unknown version without telling those that it supports."""

    def refuse_version(self, version):
        return RpcError(-32022, "unsupported protocol version")


class RemovedMethodsServed(Server):
    """Still serves methods that 2026-07-28 removed."""

    def find_handler(self, call):
        if call.method in ("ping", "logging/setLevel", "resources/subscribe"):
            return lambda call: {}
        return super().find_handler(call)


class SendsRequests(Server):
    """Sends a request to the client."""

    def call_add(self, call, arguments):
        yield {"jsonrpc": "2.0", "id": f"ask-{call.id}", "method": "roots/list"}
        return super().call_add(call, arguments)


class RemembersCapabilities(Server):
    """Takes the capabilities of an earlier request for those of this one."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def open_modern_call(self, message, meta, session):
        call = super().open_modern_call(message, meta, session)
        self.seen = {**self.seen, **call.capabilities}
        call.capabilities = self.seen
        return call


class InputWithoutCapability(Server):
    """Requires input that the client did not declare."""

    def greet_modern_user(self, call):
        return self.require_input(call)


class MissingCapabilityWithoutData(Server):
    """Does not tell which capability of the client is missing."""

    def refuse_client(self, call):
        return RpcError(-32021, "the client lacks a capability")


class MissingCapabilityCode(Server):
    """Refuses a client without the capability as an internal error."""

    def refuse_client(self, call):
        return RpcError(-32603, "the client lacks a capability")


class InputForLists(Server):
    """Requires input before it lists prompts."""

    def prompts_list(self, call):
        if "elicitation" in call.capabilities and "inputResponses" not in call.params:
            return self.require_input(call)
        return super().prompts_list(call)


class NothingRequired(Server):
    """`input_required` without anything that is required."""

    def require_input(self, call):
        return {"resultType": "input_required"}


class UnknownInputKind(Server):
    """Requires an input of a kind that does not exist."""

    def require_input(self, call):
        result = super().require_input(call)
        return {**result, "inputRequests": {"name": {"method": "ping"}}}


class MalformedAnswerAccepted(Server):
    """Takes any answer of the user for one."""

    def check_answer(self, answer):
        return {"action": "cancel"}


class ManyTools(Server):
    """Base of servers whose other tools come after a dozen without anything special."""

    extra = tuple(
        {
            "name": f"note_{number}",
            "description": "Return a note.",
            "inputSchema": {"type": "object", "additionalProperties": False},
            "annotations": READ_ONLY,
        }
        for number in range(12)
    )

    def get_tools(self, call):
        return [*self.extra, *super().get_tools(call)]

    def tools_call(self, call):
        if str(call.params.get("name")).startswith("note_"):
            if call.params.get("arguments"):
                return self.refuse_arguments(call, "unknown argument")
            return {"content": [make_text("a note")]}
        return super().tools_call(call)


class MalformedAnswerAcceptedLate(ManyTools, MalformedAnswerAccepted):
    """Takes any answer of the user for one, in the last of many tools."""


class MissingAnswerRefused(Server):
    """Answers a retry without the needed answer with an error."""

    def require_input(self, call):
        if "inputResponses" in call.params:
            raise RpcError(INVALID_PARAMS, "missing answer")
        return super().require_input(call)


class NoAcknowledgement(Server):
    """Does not acknowledge subscriptions."""

    def acknowledge(self, call, wanted):
        yield from ()


class SubscriptionsRefused(Server):
    """Declares that it sends changes, and refuses subscriptions."""

    def subscriptions_listen(self, call):
        raise RpcError(METHOD_NOT_FOUND, "unknown method")


class CallsNeedHandshake(Server):
    """Declares 2026-07-28, and refuses each call before `initialize`."""

    def tools_call(self, call):
        raise RpcError(INVALID_REQUEST, "initialize is required")


class MessageBeforeAcknowledgement(Server):
    """Sends a change before it acknowledges the subscription."""

    def acknowledge(self, call, wanted):
        params = {"_meta": self.get_subscription_meta(call)}
        if wanted.get("toolsListChanged"):
            yield self.notify("notifications/tools/list_changed", params)
        for uri in wanted.get("resourceSubscriptions", ()):
            yield self.notify("notifications/resources/updated", {**params, "uri": uri})
        yield from super().acknowledge(call, wanted)


class UnrequestedNotifications(Server):
    """Sends changes that the subscription did not ask for."""

    def acknowledge(self, call, wanted):
        yield from super().acknowledge(call, wanted)
        params = {"_meta": self.get_subscription_meta(call)}
        for kind in ("tools", "prompts"):
            if not wanted.get(kind + "ListChanged"):
                yield self.notify(f"notifications/{kind}/list_changed", params)


class HonoursTooMuch(Server):
    """Acknowledges more than was asked for."""

    def acknowledge(self, call, wanted):
        everything = {"toolsListChanged": True, "promptsListChanged": True}
        yield from super().acknowledge(call, {**wanted, **everything})


class LostSubscriptionId(Server):
    """Messages of a subscription lack its id."""

    def get_subscription_meta(self, call):
        return {}


class SubscriptionIdAsText(Server):
    """The id of a subscription is returned as a string."""

    def get_subscription_meta(self, call):
        return {META + "subscriptionId": f"{call.id}."}


class ExtensionWithoutPrefix(Server):
    """Declares an extension whose name has no prefix."""

    def get_capabilities(self, revision):
        return {**super().get_capabilities(revision), "extensions": {"tasks": {}}}


class DeclineAsError(Server):
    """Answers with an error when the user declines."""

    def greet(self, answer):
        if answer.get("action") != "accept":
            raise RpcError(-32603, "KeyError: 'content'")
        return super().greet(answer)


class ClientInfoUsed(Server):
    """Declares other capabilities for each name of a client."""

    def server_discover(self, call):
        result = super().server_discover(call)
        name = call.meta.get(META + "clientInfo", {}).get("name", "nobody")
        capabilities = {**result["capabilities"], "experimental": {name: {}}}
        return {**result, "capabilities": capabilities}

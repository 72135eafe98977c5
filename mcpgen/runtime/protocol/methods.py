"""What each request method does: answer at once, or ask for a handler.

Each function takes the call, either answers it and gives False, or gives True: a handler must.
A `ProtocolError` that it raises becomes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.call import Call
from mcpgen.runtime.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVELS,
    JsonObject,
)
from mcpgen.runtime.protocol.listing import Listing
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

MAX_SUBSCRIPTIONS: Final = 1000  # to resources, of a legacy session
MAX_LISTENS: Final = 1000  # of a connection; over HTTP each has its own

Method: TypeAlias = "Callable[[Call], bool]"


@lru_cache(maxsize=16)
def methods_of(offering: Offering, revision: Revision) -> Mapping[str, Method]:
    """Give the methods that a revision has and whose capability the server declares."""
    return {
        name: method
        for name, method in _METHODS.items()
        if name in revision.request_methods
        and (name not in _CONDITIONS or _CONDITIONS[name](offering))
    }


def _initialize(call: Call) -> bool:
    protocol = call.protocol
    offering = protocol.offering
    requested = _string(call.params, "protocolVersion")
    capabilities = call.params.get("capabilities")
    client_info = call.params.get("clientInfo")
    revision = next((row for row in offering.legacy if row.name == requested), offering.legacy[0])
    former = protocol.session
    session = LegacySession(
        revision,
        client_capabilities=capabilities if type(capabilities) is dict else {},
        client_info=client_info if type(client_info) is dict else {},
    )
    if former is not None:
        session.next_request_id = former.next_request_id
    protocol.session = session
    call.revision = revision
    result: JsonObject = {
        "protocolVersion": revision.name,
        "capabilities": offering.capabilities(revision),
        "serverInfo": offering.implementation(revision),
    }
    if offering.instructions:
        result["instructions"] = offering.instructions
    call.answer(result)
    return False


def _discover(call: Call) -> bool:
    offering = call.protocol.offering
    result: JsonObject = {
        "supportedVersions": offering.version_names,
        "capabilities": offering.capabilities(call.revision),
    }
    if offering.instructions:
        result["instructions"] = offering.instructions
    call.answer(result)
    return False


def _ping(call: Call) -> bool:
    call.answer({})
    return False


def _list(listing_of: Callable[[Offering], Listing | None]) -> Method:
    def answer_list(call: Call) -> bool:
        protocol = call.protocol
        listing = listing_of(protocol.offering)
        page = b"" if listing is None else listing.page(call.revision, call.params.get("cursor"))
        envelope: JsonObject = {}
        if call.revision.is_modern:
            protocol.envelop(envelope, call.method)
        pieces = (  # joined once: a page may have megabytes
            b'{"jsonrpc":"2.0","id":',
            protocol.encode(call.id),
            b',"result":{',
            page,
            b"," if envelope else b"",
            protocol.encode(envelope)[1:],
            b"}",
        )
        protocol.respond(call, b"".join(pieces))
        return False

    return answer_list


def _set_level(call: Call) -> bool:
    level = call.params.get("level")
    if level not in LOG_LEVELS:
        raise ProtocolError(INVALID_PARAMS, f"`level` is one of {', '.join(LOG_LEVELS)}")
    if call.protocol.session is not None:
        call.protocol.session.log_level = level
    call.answer({})
    return False


def _subscribe(call: Call) -> bool:
    uri = _uri(call.params)
    if not call.protocol.offering.knows_resource(uri):
        raise ProtocolError(
            call.revision.resource_not_found, f"no resource is at {uri}", {"uri": uri}
        )
    session = call.protocol.session
    if session is not None and uri not in session.subscribed_uris:
        if len(session.subscribed_uris) >= MAX_SUBSCRIPTIONS:
            raise ProtocolError(
                INVALID_REQUEST, f"a session subscribes to at most {MAX_SUBSCRIPTIONS} resources"
            )
        session.subscribed_uris |= {uri}
    call.answer({})
    return False


def _unsubscribe(call: Call) -> bool:
    uri = _uri(call.params)
    if call.protocol.session is not None:
        call.protocol.session.subscribed_uris -= {uri}
    call.answer({})
    return False


def _listen(call: Call) -> bool:
    offering = call.protocol.offering
    if call.protocol.open_listens >= MAX_LISTENS:
        raise ProtocolError(INVALID_REQUEST, f"at most {MAX_LISTENS} subscriptions are open")
    wanted = call.params.get("notifications")
    if type(wanted) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`notifications` must be an object")
    honoured: JsonObject = {}
    for kind in ("tools", "prompts", "resources"):
        key = f"{kind}ListChanged"
        if type(wanted.get(key, False)) is not bool:
            raise ProtocolError(INVALID_PARAMS, f"`notifications.{key}` must be a boolean")
        if wanted.get(key) and kind in offering.changing_lists:
            honoured[key] = True
    uris = wanted.get("resourceSubscriptions", [])
    if type(uris) is not list or not all(type(uri) is str for uri in uris):
        raise ProtocolError(INVALID_PARAMS, "`notifications.resourceSubscriptions` must be URIs")
    if uris and offering.offers_subscriptions:
        honoured["resourceSubscriptions"] = uris
    call.protocol.listen(call, honoured)
    return False


def _call_tool(call: Call) -> bool:
    params = call.params
    if type(params.get("name")) is not str:
        raise ProtocolError(INVALID_PARAMS, "`name` must be a string")
    if type(params.get("arguments", {})) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`arguments` must be an object")
    _read_input(call)
    return True


def _get_prompt(call: Call) -> bool:
    name = _string(call.params, "name")
    prompts = call.protocol.offering.prompts
    prompt = prompts.items.get(name) if prompts is not None else None
    if prompt is None:
        raise ProtocolError(INVALID_PARAMS, f"no prompt is named {name[:100]!r}")
    given = call.params.get("arguments", {})
    if type(given) is not dict or not all(type(value) is str for value in given.values()):
        raise ProtocolError(INVALID_PARAMS, "`arguments` must be an object of strings")
    declared = {argument["name"]: argument for argument in prompt.get("arguments", ())}
    for name in given:
        if name not in declared:
            raise ProtocolError(INVALID_PARAMS, f"the prompt has no argument {name[:100]!r}")
    for name, argument in declared.items():
        if argument.get("required") and name not in given:
            raise ProtocolError(INVALID_PARAMS, f"the prompt's argument {name!r} is required")
    _read_input(call)
    return True


def _read_resource(call: Call) -> bool:
    _uri(call.params)
    _read_input(call)
    return True


def _complete(call: Call) -> bool:
    offering = call.protocol.offering
    reference = call.params.get("ref")
    argument = call.params.get("argument")
    if type(reference) is not dict or type(argument) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`ref` and `argument` must be objects")
    _string(argument, "name")
    _string(argument, "value")
    if reference.get("type") == "ref/prompt":
        listing, key = offering.prompts, _string(reference, "name")
    elif reference.get("type") == "ref/resource":
        listing, key = offering.resource_templates, _string(reference, "uri")
    else:
        raise ProtocolError(INVALID_PARAMS, "`ref.type` is `ref/prompt` or `ref/resource`")
    if listing is None or key not in listing.items:
        raise ProtocolError(INVALID_PARAMS, f"nothing is known as {key[:100]!r}")
    context = call.params.get("context", {})
    others = context.get("arguments", {}) if type(context) is dict else None
    if type(others) is not dict or not all(type(value) is str for value in others.values()):
        raise ProtocolError(INVALID_PARAMS, "`context.arguments` must be an object of strings")
    return True


def _read_input(call: Call) -> None:
    """Take the second half of a multi-round-trip request (MCP 2026-07-28)."""
    if not call.revision.is_modern:
        return
    responses = call.params.get("inputResponses")
    if responses is not None:
        if type(responses) is not dict or not all(type(it) is dict for it in responses.values()):
            raise ProtocolError(INVALID_PARAMS, "`inputResponses` must be an object of objects")
        call.input_responses = responses
    state = call.params.get("requestState")
    if state is not None:
        if type(state) is not str:
            raise ProtocolError(INVALID_PARAMS, "`requestState` must be a string")
        call.request_state = state


def _string(params: JsonObject, key: str) -> str:
    value = params.get(key)
    if type(value) is not str:
        raise ProtocolError(INVALID_PARAMS, f"`{key}` must be a string")
    return value


def _uri(params: JsonObject) -> str:
    uri = _string(params, "uri")
    scheme, colon, _ = uri.partition(":")
    legal = scheme.replace("+", "a").replace("-", "a").replace(".", "a")
    if not (colon and legal.isascii() and legal.isalnum() and scheme[0].isalpha()):
        raise ProtocolError(INVALID_PARAMS, "`uri` must be an absolute URI")
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in uri):
        raise ProtocolError(INVALID_PARAMS, "`uri` has characters that no URI has")
    return uri


_METHODS: Final[dict[str, Method]] = {
    "completion/complete": _complete,
    "initialize": _initialize,
    "logging/setLevel": _set_level,
    "ping": _ping,
    "prompts/get": _get_prompt,
    "prompts/list": _list(lambda offering: offering.prompts),
    "resources/list": _list(lambda offering: offering.resources),
    "resources/read": _read_resource,
    "resources/subscribe": _subscribe,
    "resources/templates/list": _list(lambda offering: offering.resource_templates),
    "resources/unsubscribe": _unsubscribe,
    "server/discover": _discover,
    "subscriptions/listen": _listen,
    "tools/call": _call_tool,
    "tools/list": _list(lambda offering: offering.tools),
}

_CONDITIONS: Final[dict[str, Callable[[Offering], bool]]] = {
    "completion/complete": lambda offering: offering.offers_completions,
    "logging/setLevel": lambda offering: offering.offers_logging,
    "prompts/get": lambda offering: offering.prompts is not None,
    "prompts/list": lambda offering: offering.prompts is not None,
    "resources/list": lambda offering: offering.resources is not None,
    "resources/read": lambda offering: offering.resources is not None,
    "resources/subscribe": lambda offering: offering.offers_subscriptions,
    "resources/templates/list": lambda offering: offering.resources is not None,
    "resources/unsubscribe": lambda offering: offering.offers_subscriptions,
    "subscriptions/listen": lambda offering: bool(
        offering.changing_lists or offering.offers_subscriptions
    ),
    "tools/call": lambda offering: offering.tools is not None,
    "tools/list": lambda offering: offering.tools is not None,
}

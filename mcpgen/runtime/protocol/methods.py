"""Request methods of MCP: answer a request at once, or check it for a handler.

A function returns True if a handler must answer the request; the others have answered it. A
`ProtocolError` that one raises becomes the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.client_requests import find_extension
from mcpgen.runtime.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVELS,
    MISSING_CLIENT_CAPABILITY,
    TASKS_EXTENSION,
    JsonObject,
)
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

MAX_SUBSCRIPTIONS: Final = 1000  # to resources, per legacy session
MAX_URI_CHARACTERS: Final = 2048  # in a subscription
MAX_CLIENT_BYTES: Final = 4096  # of a client's capabilities, as JSON
MAX_CLIENT_VALUES: Final = 100
SKILL_SCHEME: Final = "skill://"
MAX_LISTENS: Final = 1000  # `subscriptions/listen` per connection; over HTTP each has its own

Method: TypeAlias = "Callable[[Request], bool | None]"


def select_methods(definition: ServerDefinition, revision: Revision) -> Mapping[str, Method]:
    """Return the methods of a revision whose capability the server declares.

    The definition stores them.
    """
    known = revision.request_methods | revision.extension_methods
    methods = definition.methods[revision] = {
        name: method
        for name, (method, members) in _METHODS.items()
        if name in known and (not members or any(getattr(definition, member) for member in members))
    }
    return methods


def _initialize(request: Request) -> None:
    connection = request.connection
    definition = connection.definition
    requested = _require_string(request.params, "protocolVersion")
    revision = next(
        (row for row in definition.legacy if row.name == requested), definition.legacy[0]
    )
    former = connection.session
    session = LegacySession(revision, client_capabilities=_read_capabilities(request))
    if former is not None:
        session.next_request_id = former.next_request_id
        session.request_id_prefix = former.request_id_prefix
    connection.session = session
    request.revision = revision
    shown = definition.for_client(session.client_capabilities)
    result: JsonObject = {
        "protocolVersion": revision.name,
        "capabilities": shown.capabilities(revision),
        "serverInfo": definition.implementation(revision),
    }
    if definition.instructions:
        result["instructions"] = definition.instructions
    request.answer(result)


def _read_capabilities(request: Request) -> JsonObject:
    """Return the client's capabilities, unless they are too large to store for 10,000 sessions."""
    capabilities = request.params.get("capabilities")
    if type(capabilities) is not dict:
        return {}
    text = request.connection.encode(capabilities)
    values = text.count(b",") + text.count(b"{") + text.count(b"[")
    if len(text) > MAX_CLIENT_BYTES or values > MAX_CLIENT_VALUES:
        raise ProtocolError(
            INVALID_PARAMS,
            f"`capabilities` is too large: expected at most {MAX_CLIENT_BYTES:,} bytes and "
            f"{MAX_CLIENT_VALUES} values",
        )
    return capabilities


def _discover(request: Request) -> None:
    definition = request.definition
    result: JsonObject = {
        "supportedVersions": definition.version_names,
        "capabilities": definition.capabilities(request.revision),
    }
    if definition.instructions:
        result["instructions"] = definition.instructions
    request.answer(result)


def _ping(request: Request) -> None:
    request.answer({})


def _make_list_method(name: str) -> Method:
    def answer_list(request: Request) -> None:
        connection = request.connection
        definition = request.definition
        items: PreparedList | None = getattr(definition, name)
        page = b"" if items is None else items.page(request.revision, request.params.get("cursor"))
        envelope: JsonObject = {}
        if request.revision.is_modern:
            connection.add_envelope(envelope, request.method, definition)
        pieces = (  # joined once: a page may have several megabytes
            b'{"jsonrpc":"2.0","id":',
            connection.encode(request.id),
            b',"result":{',
            page,
            b"," if envelope else b"",
            connection.encode(envelope)[1:],
            b"}",
        )
        if request.observation is not None:
            request.observation.note_success()
        request.respond(b"".join(pieces))

    return answer_list


def _set_level(request: Request) -> None:
    level = request.params.get("level")
    if level not in LOG_LEVELS:
        raise ProtocolError(
            INVALID_PARAMS, f"invalid `level`: expected one of {', '.join(LOG_LEVELS)}"
        )
    if request.connection.session is not None:
        request.connection.session.log_level = level
    request.answer({})


def _subscribe(request: Request) -> None:
    uri = _require_uri(request.params)
    if not request.connection.definition.has_resource(uri):
        raise ProtocolError(
            request.revision.resource_not_found, f"no resource is at {uri}", {"uri": uri}
        )
    if len(uri) > MAX_URI_CHARACTERS:
        raise ProtocolError(
            INVALID_PARAMS, f"`uri` is too long: expected at most {MAX_URI_CHARACTERS} characters"
        )
    session = request.connection.session
    if session is not None and uri not in session.subscribed_uris:
        if len(session.subscribed_uris) >= MAX_SUBSCRIPTIONS:
            raise ProtocolError(
                INVALID_REQUEST, f"too many subscriptions: a session may have {MAX_SUBSCRIPTIONS}"
            )
        session.subscribed_uris |= {uri}
    request.answer({})


def _unsubscribe(request: Request) -> None:
    uri = _require_uri(request.params)
    if request.connection.session is not None:
        request.connection.session.subscribed_uris -= {uri}
    request.answer({})


def _listen(request: Request) -> bool:
    definition = request.connection.definition
    if len(request.connection.subscriptions) >= MAX_LISTENS:
        raise ProtocolError(
            INVALID_REQUEST, f"too many subscriptions: a connection may have {MAX_LISTENS}"
        )
    requested = request.params.get("notifications")
    if type(requested) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`notifications` must be an object")
    honoured: JsonObject = {}
    for kind in ("tools", "prompts", "resources"):
        key = f"{kind}ListChanged"
        if type(requested.get(key, False)) is not bool:
            raise ProtocolError(INVALID_PARAMS, f"`notifications.{key}` must be a boolean")
        if requested.get(key) and kind in definition.changing_lists:
            honoured[key] = True
    uris = requested.get("resourceSubscriptions", [])
    if type(uris) is not list or not all(type(uri) is str for uri in uris):
        raise ProtocolError(
            INVALID_PARAMS, "`notifications.resourceSubscriptions` must be an array of strings"
        )
    if len(uris) > MAX_SUBSCRIPTIONS or any(len(uri) > MAX_URI_CHARACTERS for uri in uris):
        raise ProtocolError(
            INVALID_PARAMS,
            "`notifications.resourceSubscriptions` is too large: expected at most "
            f"{MAX_SUBSCRIPTIONS} URIs of at most {MAX_URI_CHARACTERS} characters",
        )
    if uris and definition.has_subscriptions:
        honoured["resourceSubscriptions"] = uris
    if definition.has_tasks and "taskIds" in requested:
        request.requested_notifications = honoured | {"taskIds": _read_task_ids(request)}
        return True  # only the store knows which of the tasks belong to this client
    request.listen(honoured)
    return False


def _read_task_ids(request: Request) -> list[str]:
    _check_declares_tasks(request)
    ids = request.params["notifications"]["taskIds"]
    if type(ids) is not list or not all(type(it) is str for it in ids):
        raise ProtocolError(INVALID_PARAMS, "`notifications.taskIds` must be an array of strings")
    if len(ids) > MAX_SUBSCRIPTIONS or any(len(it) > MAX_URI_CHARACTERS for it in ids):
        raise ProtocolError(
            INVALID_PARAMS,
            f"`notifications.taskIds` is too large: expected at most {MAX_SUBSCRIPTIONS} ids",
        )
    return ids


def _serve_task(request: Request) -> bool:
    """Check `tasks/get`, `tasks/update` or `tasks/cancel` (Tasks extension)."""
    _check_declares_tasks(request)
    _require_string(request.params, "taskId")
    if request.method == "tasks/update":
        if "inputResponses" not in request.params:
            raise ProtocolError(INVALID_PARAMS, "missing `inputResponses`")
        _read_input(request)
    return True


def _check_declares_tasks(request: Request) -> None:
    if find_extension(request.client_capabilities, TASKS_EXTENSION) is None:
        raise ProtocolError(
            MISSING_CLIENT_CAPABILITY,
            f"this client did not declare the extension `{TASKS_EXTENSION}`",
            {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
        )


def _call_tool(request: Request) -> bool:
    params = request.params
    if type(params.get("name")) is not str:
        raise ProtocolError(INVALID_PARAMS, "`name` must be a string")
    if "arguments" in params and type(params["arguments"]) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`arguments` must be an object")
    if "inputResponses" in params or "requestState" in params:
        _read_input(request)
    return True


def _get_prompt(request: Request) -> bool:
    name = _require_string(request.params, "name")
    prompts = request.connection.definition.prompts
    prompt = prompts.items.get(name) if prompts is not None else None
    if prompt is None:
        raise ProtocolError(INVALID_PARAMS, f"unknown prompt {name[:100]!r}")
    arguments = request.params.get("arguments", {})
    if type(arguments) is not dict or not all(type(value) is str for value in arguments.values()):
        raise ProtocolError(INVALID_PARAMS, "`arguments` must be an object of strings")
    declared = {argument["name"]: argument for argument in prompt.get("arguments", ())}
    for name in arguments:
        if name not in declared:
            raise ProtocolError(INVALID_PARAMS, f"unknown prompt argument {name[:100]!r}")
    for name, argument in declared.items():
        if argument.get("required") and name not in arguments:
            raise ProtocolError(INVALID_PARAMS, f"missing prompt argument {name!r}")
    _read_input(request)
    return True


def _read_resource(request: Request) -> bool:
    uri = _require_uri(request.params)
    definition = request.definition
    if definition is not request.connection.definition and definition.views is not None:
        contents = definition.views.read(definition, uri)
        if contents is not None:
            request.answer({"contents": [contents]})
            return False
    _read_input(request)
    if uri.startswith(SKILL_SCHEME) and request.connection.definition.skills is not None:
        from mcpgen.runtime.protocol.skills import answer_skill_file  # not needed to list tools

        return not answer_skill_file(request, uri)
    return True


def _get_skill(request: Request) -> None:
    from mcpgen.runtime.protocol.skills import get_skill

    get_skill(request, _require_uri(request.params))


def _read_directory(request: Request) -> None:
    from mcpgen.runtime.protocol.skills import read_directory

    read_directory(request, _require_uri(request.params))


def _complete(request: Request) -> bool:
    definition = request.connection.definition
    reference = request.params.get("ref")
    argument = request.params.get("argument")
    if type(reference) is not dict or type(argument) is not dict:
        raise ProtocolError(INVALID_PARAMS, "`ref` and `argument` must be objects")
    _require_string(argument, "name")
    _require_string(argument, "value")
    if reference.get("type") == "ref/prompt":
        items, key = definition.prompts, _require_string(reference, "name")
    elif reference.get("type") == "ref/resource":
        items, key = definition.resource_templates, _require_string(reference, "uri")
    else:
        raise ProtocolError(
            INVALID_PARAMS, "invalid `ref.type`: expected `ref/prompt` or `ref/resource`"
        )
    if items is None or key not in items.items:
        raise ProtocolError(INVALID_PARAMS, f"unknown `ref`: {key[:100]!r}")
    context = request.params.get("context", {})
    others = context.get("arguments", {}) if type(context) is dict else None
    if type(others) is not dict or not all(type(value) is str for value in others.values()):
        raise ProtocolError(INVALID_PARAMS, "`context.arguments` must be an object of strings")
    return True


def _read_input(request: Request) -> None:
    """Read the client's input of a repeated request (MCP 2026-07-28, multi-round-trip requests)."""
    if not request.revision.is_modern:
        return
    responses = request.params.get("inputResponses")
    if responses is not None:
        if type(responses) is not dict or not all(type(it) is dict for it in responses.values()):
            raise ProtocolError(INVALID_PARAMS, "`inputResponses` must be an object of objects")
        request.input_responses = responses
    state = request.params.get("requestState")
    if state is not None:
        if type(state) is not str:
            raise ProtocolError(INVALID_PARAMS, "`requestState` must be a string")
        request.request_state = state


def _require_string(params: JsonObject, key: str) -> str:
    value = params.get(key)
    if type(value) is not str:
        raise ProtocolError(INVALID_PARAMS, f"`{key}` must be a string")
    return value


def _require_uri(params: JsonObject) -> str:
    uri = _require_string(params, "uri")
    scheme, colon, _ = uri.partition(":")
    legal = scheme.replace("+", "a").replace("-", "a").replace(".", "a")
    if not (colon and legal.isascii() and legal.isalnum() and scheme[0].isalpha()):
        raise ProtocolError(INVALID_PARAMS, "`uri` must be an absolute URI")
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in uri):
        raise ProtocolError(
            INVALID_PARAMS, "`uri` contains characters that are not allowed in a URI"
        )
    return uri


_METHODS: Final[dict[str, tuple[Method, tuple[str, ...]]]] = {
    # name -> function, and the members of the definition of which the server must have one
    "completion/complete": (_complete, ("has_completions",)),
    "initialize": (_initialize, ()),
    "logging/setLevel": (_set_level, ("has_logging",)),
    "ping": (_ping, ()),
    "prompts/get": (_get_prompt, ("prompts",)),
    "prompts/list": (_make_list_method("prompts"), ("prompts",)),
    "resources/directory/read": (_read_directory, ("skills",)),
    "resources/list": (_make_list_method("resources"), ("resources",)),
    "resources/read": (_read_resource, ("resources",)),
    "resources/subscribe": (_subscribe, ("has_subscriptions",)),
    "resources/templates/list": (_make_list_method("resource_templates"), ("resources",)),
    "resources/unsubscribe": (_unsubscribe, ("has_subscriptions",)),
    "server/discover": (_discover, ()),
    "skills/get": (_get_skill, ("skills",)),
    "skills/list": (_make_list_method("skills"), ("skills",)),
    "subscriptions/listen": (_listen, ("changing_lists", "has_subscriptions", "has_tasks")),
    "tasks/cancel": (_serve_task, ("has_tasks",)),
    "tasks/get": (_serve_task, ("has_tasks",)),
    "tasks/update": (_serve_task, ("has_tasks",)),
    "tools/call": (_call_tool, ("tools",)),
    "tools/list": (_make_list_method("tools"), ("tools",)),
}

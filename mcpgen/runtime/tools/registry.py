"""Registry of a server's tools: validate arguments, run handlers, convert results."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from msgspec import convert
from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject, ToolResult
from mcpgen.runtime.errors import (
    CallRefusedError,
    ClientCannotError,
    ConfigurationError,
    ConnectionNeededError,
    InvalidArgumentsError,
    ProtocolError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.handlers.overrides import Hook, wrap_handlers
from mcpgen.runtime.process.memory_budget import run_in_worker
from mcpgen.runtime.tools.projection import Projection
from mcpgen.runtime.tools.results import (
    ResultShape,
    ToolOutcome,
    add_notes,
    make_error_result,
    make_result,
)
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.response.json_decoding import LONG_BYTES

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.auth.scopes import ScopeRules
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.handlers.features import Features
    from mcpgen.runtime.upstream.auth.account_store import AccountStore


class AccountConnector(Protocol):
    """Interface of what asks users to connect accounts: `connect.links.Connector`."""

    async def ask(self, needed: ConnectionNeededError, context: Context) -> NoReturn:
        """End a call by asking its user; raise ToolError if that is not possible."""


class UserConnections(Protocol):
    """Interface of what lets users connect accounts: `connect.service.ConnectService`."""

    client: ApiClient | None
    """The client of the API, which is set once there is one."""

    @property
    def accounts(self) -> AccountStore:
        """The connected accounts."""

    @property
    def connector(self) -> AccountConnector:
        """Asks users to connect accounts."""


class ToolRegistry:
    """Every tool of a server, ready to be called."""

    def __init__(
        self,
        groups: Iterable[ToolGroup],
        client: ApiClient,
        hooks: Iterable[Hook] = (),
        *,
        aliases: Mapping[str, str] = MappingProxyType({}),
        features: Features | None = None,
        scopes: ScopeRules | None = None,
    ) -> None:
        """Join groups, and wrap their handlers in the hooks of `handlers/`.

        `aliases` map former names of tools to the current ones. A resource of `features` may be
        passed as a file argument. `scopes` are required of authorized callers, also where one tool
        calls another; the transport checks only the tool that the client names.

        Raises:
            ConfigurationError: a tool has no handler, two groups have a tool of the same name, or
                a hook does not fit.
        """
        self._client = client
        self.redactor = client.get_redactor
        """Returns a redactor of the secrets that the server currently has."""
        self.connector: AccountConnector | None = None
        """Asks users to connect accounts; set if they can."""
        self.features = features
        self._scopes = scopes
        self.tools: dict[str, Tool] = {}
        self._shapes: dict[str, ResultShape] = {}
        for group in groups:
            group.check_complete()
            for name, tool in group.tools.items():
                if name in self.tools:
                    raise ConfigurationError(f"two groups have a tool called `{name}`")
                self.tools[name] = tool
        self._handlers = wrap_handlers(self.tools.values(), hooks)
        self._projections: dict[str, Projection] = {}
        for tool in self.tools.values():
            if "shaping" in tool.contract:
                self._apply_policies(tool)
        self.listed = {
            name: tool for name, tool in self.tools.items() if "exposed_as" not in tool.contract
        }
        """The tools that clients may call: those that are not exposed as a resource or a prompt."""
        self._aliases = {alias: self.tools[name] for alias, name in aliases.items()}

    async def call(
        self, name: str, arguments: JsonObject, context: Context, *, is_listed: bool = True
    ) -> ToolResult:
        """Validate the arguments, run the handler, and return the result.

        A tool that is exposed as a resource or a prompt is not listed, and no client can call it.

        Raises:
            UnknownToolError: there is no such tool.
            InvalidArgumentsError: the arguments break the schema; nothing was sent.
            ProtocolError: the handler ended the request itself.
            ClientCannotError: the client lacks what the handler asked of it.
        """
        tool = self.find(name) if is_listed else self.tools[name]
        try:
            handling = self._start_handler(tool, arguments, context)
            api = context.api
            value = await handling
            if value is None:  # a response that the document does not describe is not dropped
                value = api.last_value
            response = api.last_response
            # A workflow has no response of its own, and its value may hold those of its steps.
            is_long = response is None and "request" not in tool.contract
            if is_long or (response is not None and len(response.body) > LONG_BYTES):
                return await run_in_worker(self._make_result, tool, value, response, api.notes)
            return self._make_result(tool, value, response, api.notes)
        except (ClientCannotError, InvalidArgumentsError, ProtocolError):
            raise
        except ConnectionNeededError as needed:
            return await self._ask_to_connect(needed, context, name)
        except RecursionError:
            error = ToolError(f"`{tool.operation}` answered with JSON that is nested too deeply.")
            return make_error_result(error, tool=name)
        except Exception as error:  # noqa: BLE001  (the boundary: nothing may end the server)
            return make_error_result(error, tool=name)

    def _make_result(
        self, tool: Tool, value: Any, response: HttpResponse | None, notes: tuple[str, ...]
    ) -> ToolResult:
        if tool.name in self._projections:
            value, cuts = self._projections[tool.name].apply(value)
            notes = (*notes, *cuts)
        is_cut_off = response is not None and response.is_cut_off
        shape = self._shapes.get(tool.name)
        if shape is None:
            client = self._client
            shape = tool.make_result_shape(client.name, client.limits)
            self._shapes[tool.name] = shape
        result = make_result(value, shape, is_cut_off=is_cut_off)
        if not notes:
            return result
        return add_notes(result, map(self._client.get_redactor().clean, notes))

    async def _ask_to_connect(
        self, needed: ConnectionNeededError, context: Context, name: str
    ) -> ToolResult:
        """Ask the user to connect an account, or say in the result how to."""
        try:
            if self.connector is not None:
                await self.connector.ask(needed, context)
        except ToolError as error:
            return make_error_result(error, tool=name)
        return make_error_result(needed, tool=name)

    async def run(self, name: str, arguments: JsonObject, context: Context) -> ToolOutcome:
        """Call a tool for another one: validated, hooked and sent as for a client.

        Raises:
            CallRefusedError: there is no such tool, or the arguments break its schema.
            ToolError: it failed.
        """
        try:
            tool = self.tools.get(name) or self.find(name)
            handling = self._start_handler(tool, arguments, context, context.attempts)
            api = context.api
            value = await handling
        except UnknownToolError:
            raise CallRefusedError(f"Unknown tool `{name}`.") from None
        except InvalidArgumentsError as error:
            raise CallRefusedError(str(error)) from None
        except ConnectionNeededError as needed:
            if self.connector is not None:
                await self.connector.ask(needed, context)
            raise
        if value is None:
            value = api.last_value
        response = api.last_response
        if response is None:
            return ToolOutcome(tool.operation, value)
        return ToolOutcome(tool.operation, value, response.status, response.headers)

    def find(self, name: str) -> Tool:
        """Find a listed tool by its name or a former name.

        Raises:
            UnknownToolError: there is none, or it is exposed as a resource or a prompt.
        """
        tool = self.listed.get(name) or self._aliases.get(name)
        if tool is None:
            raise UnknownToolError(name)
        return tool

    def _start_handler(
        self, tool: Tool, arguments: JsonObject, context: Context, attempts: int | None = None
    ) -> Awaitable[Any]:
        """Validate the arguments and start a tool's handler, with `context.api` set."""
        if self._scopes is not None:
            _check_scopes(self._scopes, tool, context.owner.access)
        keywords = tool.prepare_arguments(arguments)
        rules = tool.rules if attempts is None else replace(tool.rules, attempts=attempts)
        api = context.api = self._client.bind(tool.name, rules)
        api.owner = context.owner
        if self.features is not None:
            api.read_resource = partial(self.features.read_resource, context=context)
        if tool.pagination is not None:
            api.paging = self._client.start_paging(tool.pagination, arguments)
        return self._handlers[tool.name](context, **keywords)

    def _apply_policies(self, tool: Tool) -> None:
        from mcpgen.runtime.tools.result_policies import apply_policies  # few tools need it

        name, entry = tool.name, tool.contract["shaping"]
        handler = self._handlers[name]
        self._handlers[name] = apply_policies(handler, name, entry, self._client.environment)
        if "result" in entry:
            self._projections[name] = convert(entry["result"], Projection)

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._client.aclose()


def _check_scopes(scopes: ScopeRules, tool: Tool, access: Access | None) -> None:
    """Raise ToolError if an authorized caller lacks a scope that a tool requires."""
    if access is not None and access.principal:
        missing = scopes.find_missing_for(tool.name, access.scopes)
        if missing:
            raise ToolError(
                f"`{tool.operation}` was not sent: the access token lacks the scope "
                f"{', '.join(f'`{scope}`' for scope in sorted(missing))}."
            )

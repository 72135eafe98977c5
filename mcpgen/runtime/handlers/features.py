"""Hand-written tools, resources and prompts: plain typed functions with a decorator."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from msgspec import to_builtins

from mcpgen.jsonschema.dialects import find_dialect
from mcpgen.runtime.content import (
    Audio,
    Completion,
    EmbeddedResource,
    Image,
    JsonObject,
    PromptMessage,
    PromptResult,
    ResourceContents,
    ResourceLink,
    ResourceResult,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import (
    ClientCannotError,
    ConfigurationError,
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
)
from mcpgen.runtime.handlers.signatures import Signature, read_summary
from mcpgen.runtime.handlers.source_places import locate_source
from mcpgen.runtime.process.json_numbers import check_numbers
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS, encode_json
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.text.uri_template import UriTemplate

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator
    from mcpgen.runtime.handlers.context import Context

Function = TypeVar("Function", bound=Callable[..., Any])
TaskMode: TypeAlias = Literal["auto", "required", "never"]
_TASK_MODES: Final = ("auto", "required", "never")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CONTENT: Final = (Text, Image, Audio, EmbeddedResource, ResourceLink)


class _Function:
    """A function that `Features` decorates; `run` awaits its result where that is awaitable."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    async def run(self, *positional: object, **keywords: object) -> Any:
        result = self.function(*positional, **keywords)
        return await result if isinstance(result, Awaitable) else result


class _Feature(_Function):
    """One function, its signature, and its entry in the list."""

    def __init__(self, listed: JsonObject, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.listed = {key: value for key, value in listed.items() if value not in ("", None, [])}
        self.signature = Signature(function)


class _Template(_Feature):
    """A resource template; its variables are the function's arguments."""

    def __init__(self, uri: str, listed: JsonObject, function: Callable[..., Any]) -> None:
        super().__init__({"uriTemplate": uri, **listed}, function)
        try:
            self.template = UriTemplate(uri)
            self.template.match("")
        except ValueError as error:
            raise ConfigurationError(f"invalid resource template: {error}") from None
        self.signature.check_names(self.template.variables, f"the variables of `{uri}`")


class _Tool(_Feature):
    def __init__(self, listed: JsonObject, function: Callable[..., Any], task: str) -> None:
        super().__init__(listed, function)
        self.task = task
        if "inputSchema" not in self.listed:
            self.listed["inputSchema"] = self.signature.make_input_schema()
        self.result_key = ""
        if "outputSchema" not in self.listed:
            schema, self.result_key = self.signature.make_output_schema()
            if schema is not None:
                self.listed["outputSchema"] = schema
        for key in ("inputSchema", "outputSchema"):
            try:
                find_dialect(self.listed.get(key, {}))
            except ValueError as error:
                raise ConfigurationError(f"`{key}` of `{self.listed['name']}`: {error}") from None
        if self.listed.get("outputSchema", {"type": "object"}).get("type") != "object":
            raise ConfigurationError(
                f"`outputSchema` of `{self.listed['name']}` has no `type: object`: clients from "
                "before MCP 2026-07-28 know no other"
            )

    @cached_property
    def _argument_validator(self) -> SchemaValidator:
        from mcpgen.jsonschema.validation import SchemaValidator  # imports the validator

        return SchemaValidator(self.listed["inputSchema"])

    @cached_property
    def _result_validator(self) -> SchemaValidator:
        from mcpgen.jsonschema.validation import SchemaValidator

        return SchemaValidator(self.listed["outputSchema"])

    def check_arguments(self, arguments: JsonObject) -> dict[str, Any]:
        if problems := self._argument_validator.problems(arguments):
            raise InvalidArgumentsError(self.listed["name"], problems)
        return self.signature.convert(arguments)

    def check_result(self, result: ToolResult) -> ToolResult:
        """Check a result against the listed output schema.

        Raises:
            ValueError: it does not match.
        """
        if result.is_error or "outputSchema" not in self.listed:
            return result
        if problems := self._result_validator.problems(result.structured_content):
            name = self.listed["name"]
            raise ValueError(
                f"`{name}` returned a result that does not match its output schema: "
                f"{'; '.join(problems)}"
            )
        return result


class Features:
    """Hand-written tools, resources and prompts of a server; a module of `handlers/` creates one.

        features = Features()

        @features.tool()
        async def greet(ctx: Context, *, name: str) -> str:
            \"\"\"Greet somebody by name.\"\"\"
            return f"Hello, {name}"

    A function takes the context first and then its arguments, which are passed by name. It may be
    async or not, and its docstring becomes the description for clients. Decorating an unsuitable
    function raises `ConfigurationError`.
    """

    def __init__(
        self,
        *,
        logs: bool = False,
        subscriptions: bool = False,
        changing: Iterable[str] = (),
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        """Declare what the functions do besides returning results.

        `logs`: some send log messages. `subscriptions`: some announce changes of a resource.
        `changing`: the lists ("tools", "prompts", "resources") whose changes some announce.
        """
        self._logs = logs
        self._subscriptions = subscriptions
        self._changing = frozenset(changing)
        self._extensions = dict(extensions or {})
        self._tools: dict[str, _Tool] = {}
        self._prompts: dict[str, _Feature] = {}
        self._resources: dict[str, _Feature] = {}
        self._templates: dict[str, _Template] = {}
        self._completions: dict[tuple[str, str], _Function] = {}

    # -- what the author of handlers uses ------------------------------------------------------

    def tool(
        self,
        name: str = "",
        *,
        title: str = "",
        description: str = "",
        input_schema: JsonObject | None = None,
        output_schema: JsonObject | None = None,
        annotations: JsonObject | None = None,
        meta: JsonObject | None = None,
        task: TaskMode = "never",
    ) -> Callable[[Function], Function]:
        """Make the decorated function a tool; its schemas come from its types if not given.

        Schemas that are given are JSON Schema 2020-12, or draft-07 if their `$schema` says so.
        `task` states whether the tool calls `ctx.task.begin`; with "required", clients that do not
        support tasks are refused.
        """
        _check_called(name, "tool()")

        def register(function: Function) -> Function:
            listed: JsonObject = {
                "name": name or function.__name__,
                "title": title,
                "description": description or read_summary(function),
                "inputSchema": input_schema,
                "outputSchema": output_schema,
                "annotations": annotations,
                "_meta": meta,
            }
            if not _TOOL_NAME.fullmatch(listed["name"]):
                raise ConfigurationError(
                    f"{listed['name']!r} is no valid tool name: use 1 to 64 of A-Z a-z 0-9 _ . -"
                )
            if task not in _TASK_MODES:
                raise ConfigurationError(
                    f"{locate_source(function)}: invalid task={task!r}: use one of "
                    f"{', '.join(map(repr, _TASK_MODES))}"
                )
            _add(self._tools, listed["name"], _Tool(listed, function, task), "tool")
            return function

        return register

    def prompt(
        self, name: str = "", *, title: str = "", description: str = ""
    ) -> Callable[[Function], Function]:
        """Make the decorated function a prompt; its arguments are strings.

        It returns a string, `PromptMessage`s, or a `PromptResult`.
        """
        _check_called(name, "prompt()")

        def register(function: Function) -> Function:
            listed = {
                "name": name or function.__name__,
                "title": title,
                "description": description or read_summary(function),
            }
            feature = _Feature(listed, function)
            if arguments := feature.signature.make_prompt_arguments():
                feature.listed["arguments"] = arguments
            _add(self._prompts, listed["name"], feature, "prompt")
            return function

        return register

    def resource(
        self,
        uri: str,
        *,
        name: str = "",
        title: str = "",
        description: str = "",
        mime_type: str = "",
        size: int | None = None,
    ) -> Callable[[Function], Function]:
        """Make the decorated function read a resource.

        It returns a string, bytes, `ResourceContents`, or several of these. A `{variable}` in the
        URI makes it a resource template (RFC 6570) whose variables are the function's arguments.
        """
        _check_called(uri, "resource(URI)")

        def register(function: Function) -> Function:
            listed = {
                "name": name or function.__name__,
                "title": title,
                "description": description or read_summary(function),
                "mimeType": mime_type,
            }
            if "{" in uri:
                template = _Template(uri, listed, function)
                _add(self._templates, uri, template, "resource template")
            else:
                feature = _Feature({"uri": uri, **listed, "size": size}, function)
                feature.signature.check_names((), f"the variables of `{uri}`")
                _add(self._resources, uri, feature, "resource")
            return function

        return register

    def completion(
        self, *, argument: str, prompt: str = "", template: str = ""
    ) -> Callable[[Function], Function]:
        """Make the decorated function suggest values for an argument of a prompt or template.

        It is called as `function(ctx, value, arguments)` with the text typed so far and the other
        arguments. It returns strings, best first, or a `Completion`.
        """

        def register(function: Function) -> Function:
            key = (prompt or template, argument)
            _add(self._completions, key, _Function(function), "completion")
            return function

        return register

    # -- what the runtime uses -----------------------------------------------------------------

    @classmethod
    def join(cls, modules: Iterable[ModuleType]) -> Features:
        """Join the features of some modules.

        Raises:
            ConfigurationError: two of them have the same name or URI.
        """
        joined = cls()
        for module in modules:
            for value in vars(module).values():
                if isinstance(value, cls):
                    joined._include(value)
        return joined

    def _include(self, other: Features) -> None:
        self._logs |= other._logs
        self._subscriptions |= other._subscriptions
        self._changing |= other._changing
        self._extensions |= other._extensions
        tables: tuple[tuple[str, dict[Any, Any], dict[Any, Any]], ...] = (
            ("tool", self._tools, other._tools),
            ("prompt", self._prompts, other._prompts),
            ("resource", self._resources, other._resources),
            ("resource template", self._templates, other._templates),
            ("completion", self._completions, other._completions),
        )
        for kind, mine, theirs in tables:
            for key, feature in theirs.items():
                if mine.get(key) is not feature:
                    _add(mine, key, feature, kind)

    def extend(
        self,
        definition: ServerDefinition,
        tool_lines: Iterable[bytes],
        aliases: Mapping[str, str] = MappingProxyType({}),
    ) -> ServerDefinition:
        """Return the definition with these features; `tool_lines` are the generated tools.

        Raises:
            ConfigurationError: a tool here has the name of a generated one, or one of its
                `aliases`.
        """
        tools = PreparedList("tools", tool_lines)
        for name, tool in self._tools.items():
            if name in tools.items:
                raise ConfigurationError(
                    f"{locate_source(tool.function)}: duplicate tool `{name}`:"
                    " a generated tool has this name"
                )
            if name in aliases:
                raise ConfigurationError(
                    f"{locate_source(tool.function)}: `{name}` is an alias of"
                    f" `{aliases[name]}` already"
                )
        mine = {name: tool.listed for name, tool in self._tools.items()}
        merged = sorted((mine | tools.items).items())
        has_resources = bool(self._resources or self._templates)
        return definition.replace(
            tools=PreparedList("tools", (encode_json(item) for _, item in merged)),
            prompts=_make_list("prompts", self._prompts.values()) if self._prompts else None,
            resources=_make_list("resources", self._resources.values()) if has_resources else None,
            resource_templates=_make_list("resourceTemplates", self._templates.values())
            if has_resources
            else None,
            has_completions=bool(self._completions),
            has_logging=self._logs,
            has_subscriptions=self._subscriptions and has_resources,
            changing_lists=self._changing,
            extensions=self._extensions,
        )

    def check_completions(self, definition: ServerDefinition) -> None:
        """Check that every completion belongs to an argument of a prompt or a template.

        Raises:
            ConfigurationError: the argument of a completion does not exist.
        """
        if not self._completions:
            return  # and no list is decoded
        arguments = {
            (prompt["name"], argument["name"])
            for prompt in _list_items(definition.prompts)
            for argument in prompt.get("arguments", ())
        }
        for listed in _list_items(definition.resource_templates):
            uri = listed["uriTemplate"]
            arguments |= {(uri, name) for name in UriTemplate(uri).variables}
        for key in self._completions.keys() - arguments:
            owner, argument = key
            raise ConfigurationError(
                f"{locate_source(self._completions[key].function)}: unknown argument `{argument}`"
                f" of `{owner}`: no prompt or resource template has it"
            )

    def has_completion(self, owner: str, argument: str) -> bool:
        """Return whether a function completes this argument of a prompt or template."""
        return (owner, argument) in self._completions

    @property
    def has_tasks(self) -> bool:
        """Whether a tool here can become a task."""
        return any(tool.task != "never" for tool in self._tools.values())

    def has_tool(self, name: str) -> bool:
        """Return whether this is a hand-written tool."""
        return name in self._tools

    async def call_tool(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Validate the arguments, run the tool, and return its result.

        Raises:
            InvalidArgumentsError: the arguments break the schema.
        """
        tool = self._tools[name]
        if tool.task == "required":
            context.task.require(name)
        keywords = tool.check_arguments(arguments)
        try:
            return tool.check_result(_make_tool_result(await tool.run(context, **keywords), tool))
        except ClientCannotError:
            raise  # the client is informed in the way of its revision
        except ToolError as error:
            from mcpgen.runtime.tools.results import make_error_result  # with the hot path

            return make_error_result(error, tool=name)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context
    ) -> PromptResult:
        """Return the messages of a prompt.

        Raises:
            ProtocolError: no prompt has this name.
        """
        prompt = self._prompts.get(name)
        if prompt is None:
            raise ProtocolError(INVALID_PARAMS, f"unknown prompt {name[:100]!r}")
        result = await prompt.run(context, **prompt.signature.convert(arguments))
        if isinstance(result, PromptResult):
            return result
        if isinstance(result, str):
            result = PromptMessage("user", Text(result))
        messages = (result,) if isinstance(result, PromptMessage) else tuple(result)
        return PromptResult(messages, prompt.listed.get("description", ""))

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Return the contents of a resource.

        Raises:
            ResourceNotFoundError: the URI is unknown, or its function returned nothing.
        """
        feature, variables = self._find_resource(uri)
        result = await feature.run(context, **feature.signature.convert(variables))
        if isinstance(result, ResourceResult):
            return result
        many = result if isinstance(result, list | tuple) else [result]
        mime_type = feature.listed.get("mimeType", "")
        contents = tuple(_make_contents(item, uri, mime_type) for item in many)
        if not contents:
            raise ResourceNotFoundError(uri)
        return ResourceResult(contents)

    def _find_resource(self, uri: str) -> tuple[_Feature, dict[str, str]]:
        if uri in self._resources:
            return self._resources[uri], {}
        for feature in self._templates.values():
            variables = feature.template.match(uri)
            if variables is not None:
                return feature, variables
        raise ResourceNotFoundError(uri)

    async def complete(self, params: JsonObject, context: Context) -> Completion:
        """Return the suggestions for an argument; empty without a completion function."""
        reference, argument = params["ref"], params["argument"]
        owner = reference.get("name") or reference.get("uri")
        feature = self._completions.get((owner, argument["name"]))
        if feature is None:
            return Completion(())
        arguments = params.get("context", {}).get("arguments", {})
        result = await feature.run(context, argument["value"], arguments)
        return result if isinstance(result, Completion) else Completion(tuple(result))


def _make_list(kind: str, features: Iterable[_Feature]) -> PreparedList:
    return PreparedList(kind, (encode_json(feature.listed) for feature in features))


def _list_items(listing: PreparedList | None) -> Iterable[JsonObject]:
    return () if listing is None else listing.items.values()


def _check_called(name: object, decorator: str) -> None:
    """Reject a decorator without parentheses, which would register nothing."""
    if callable(name):
        raise ConfigurationError(f"{locate_source(name)}: write `@features.{decorator}` above it")


def _add(table: dict[Any, Any], key: Any, feature: _Function, kind: str) -> None:
    if key in table:
        here, there = (locate_source(it.function) for it in (feature, table[key]))
        raise ConfigurationError(f"{here}: two features are the {kind} {key!r}; see {there}")
    table[key] = feature


def _make_tool_result(value: Any, tool: _Tool) -> ToolResult:
    if isinstance(value, ToolResult):
        check_numbers(value)
        return value
    if isinstance(value, _CONTENT):
        return ToolResult((value,))
    if isinstance(value, list | tuple) and value and isinstance(value[0], _CONTENT):
        return ToolResult(tuple(value))
    if value is None and not tool.result_key:
        return ToolResult((Text("Done."),))
    plain = to_builtins(value)
    text = Text(plain if isinstance(plain, str) else encode_json(plain).decode())
    if isinstance(plain, str) and not tool.result_key:
        return ToolResult((text,))
    is_object = isinstance(plain, dict) and not tool.result_key
    return ToolResult((text,), plain if is_object else {tool.result_key or "result": plain})


def _make_contents(value: object, uri: str, mime_type: str) -> ResourceContents:
    match value:
        case ResourceContents():
            return value
        case str():
            return ResourceContents(uri, mime_type or "text/plain", text=value)
        case bytes():
            return ResourceContents(uri, mime_type or "application/octet-stream", blob=value)
        case None:
            raise ResourceNotFoundError(uri)
        case _:
            raise TypeError(f"a resource is text, bytes or contents, not {type(value).__name__}")

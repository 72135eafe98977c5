"""Overrides and hooks: functions of `handlers/` in place of, before or after a handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import FunctionType, MappingProxyType, ModuleType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from msgspec import Struct

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.handlers.source_places import locate_source
from mcpgen.runtime.process.json_numbers import check_numbers

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.tools.tool import Handler, Tool

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_HOOKS: Final = "__mcpgen_hooks__"  # where a module keeps those that it defines


class CallNext(Protocol[P, R_co]):
    """The generated handler of an operation, as passed to an override.

    `_generated/calls.py` declares such a type, with its parameters, for each operation that your
    code names. Both are `async def`: pyright does not accept a `Coroutine` where the other
    promises a `CoroutineType`.
    """

    async def __call__(self, ctx: Context, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the API as the generated handler does."""
        ...


class Override(Protocol[P, R]):
    """A function that replaces a generated handler, with the same arguments and result."""

    def __call__(
        self, ctx: Context, call_next: CallNext[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]:
        """Answer the tool call."""
        ...


Before: TypeAlias = Callable[["Context", Mapping[str, Any]], Coroutine[Any, Any, None]]
After: TypeAlias = Callable[["Context", R], Coroutine[Any, Any, R]]
Call: TypeAlias = Callable[Concatenate[Any, "Context", P], Coroutine[Any, Any, R]]
"""`GetPetsPetIdCall.__call__`, of a class in `_generated/calls.py`: an operation, as a type."""


class TypedBefore(Protocol[P]):
    """A function that runs before one handler, and takes its arguments as the handler does."""

    def __call__(
        self, ctx: Context, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, None]:
        """Look at a tool call."""
        ...


def override(operation: str) -> Callable[[Override[P, R]], Override[P, R]]:
    """Replace the handler of an operation, such as "GET /pets/{petId}".

    It receives the generated handler as `call_next` and may call it any number of times. The tool's
    listing does not change, and the arguments are validated before.

    Raises:
        ConfigurationError: the function is not async.
    """

    return _decorate("override", (operation,))


@overload
def before(*operations: str) -> Callable[[Before], Before]: ...


@overload
def before(
    operation: str, /, *, call: Call[P, object]
) -> Callable[[TypedBefore[P]], TypedBefore[P]]: ...


def before(*operations: str, call: object = None) -> Callable[[Any], Any]:
    """Run the decorated function before the handlers of some operations.

    It receives the validated arguments by the handler's keywords. Raising `ToolError` refuses the
    call. With `call`, such as `GetPetsPetIdCall.__call__`, a type checker compares the function
    with the operation: it then takes the arguments as keywords, some as `**others: object`.

    Raises:
        ConfigurationError: the function is not async.
    """

    return _decorate("before", operations, by_keyword=call is not None)


@overload
def after(*operations: str) -> Callable[[After[R]], After[R]]: ...


@overload
def after(operation: str, /, *, call: Call[..., R]) -> Callable[[After[R]], After[R]]: ...


def after(*operations: str, call: object = None) -> Callable[[Any], Any]:
    """Run the decorated function on the results of some operations, and return its result.

    With `call`, such as `GetPetsPetIdCall.__call__`, a type checker compares the function with the
    result of the operation.

    Raises:
        ConfigurationError: the function is not async.
    """
    del call  # it is for the type checker

    return _decorate("after", operations)


class Hook(Struct, frozen=True):
    """One decorated function."""

    kind: str  # "override", "before" or "after"
    operations: tuple[str, ...]
    function: FunctionType
    by_keyword: bool = False  # whether it takes the arguments as the handler does

    @property
    def place(self) -> str:
        """The file and line where it is defined."""
        return locate_source(self.function)


def _decorate(
    kind: str, operations: tuple[str, ...], *, by_keyword: bool = False
) -> Callable[[Any], Any]:
    def register(function: object) -> object:
        if not isinstance(function, FunctionType) or not inspect.iscoroutinefunction(function):
            raise ConfigurationError(f"{locate_source(function)}: `@{kind}` is for async functions")
        hooks = function.__globals__.setdefault(_HOOKS, [])
        hooks.append(Hook(kind, operations, function, by_keyword))
        return function

    return register


def list_hooks(modules: Iterable[ModuleType]) -> list[Hook]:
    """Return the hooks that these modules define, in order."""
    return [hook for module in modules for hook in getattr(module, _HOOKS, ())]


def wrap_handlers(tools: Iterable[Tool], hooks: Iterable[Hook]) -> dict[str, Handler]:
    """Return the handler of each tool with its hooks, by tool name.

    Raises:
        ConfigurationError: the operation of a hook is unknown, two hooks override one operation,
            or the parameters of an override differ; the text starts with the location.
    """
    handlers = {tool.name: tool.generated_handler for tool in tools}
    by_operation: dict[str, list[Hook]] = {}
    for hook in hooks:
        for operation in hook.operations:
            by_operation.setdefault(operation, []).append(hook)
    if by_operation:
        tool_of = {tool.operation: tool for tool in tools}
        for operation, its_hooks in by_operation.items():
            tool = tool_of.get(operation)
            if tool is None:
                raise _make_unknown_operation_error(its_hooks[0], operation, tool_of)
            handlers[tool.name] = _wrap_handler(tool, its_hooks)
    return handlers


def _make_unknown_operation_error(
    hook: Hook, operation: str, known: Iterable[str]
) -> ConfigurationError:
    import difflib  # for this one sentence

    close = difflib.get_close_matches(operation, known, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return ConfigurationError(
        f"{hook.place}: `@{hook.kind}` is for `{operation}`, which is no operation here{hint}"
    )


def _wrap_handler(tool: Tool, hooks: Iterable[Hook]) -> Handler:
    overrides = [hook for hook in hooks if hook.kind == "override"]
    if len(overrides) > 1:
        raise ConfigurationError(
            f"{overrides[1].place}: `{tool.operation}` is already overridden,"
            f" at {overrides[0].place}"
        )
    handler = tool.generated_handler
    for hook in overrides:
        tool.check_signature(hook.function, ("ctx", "call_next"), f"{hook.place}: the override")
        handler = _add_override(hook.function, handler)
    first = [hook for hook in hooks if hook.kind == "before"]
    for hook in first:
        if hook.by_keyword:
            described = f"{hook.place}: the hook before"
            tool.check_signature(hook.function, ("ctx",), described, in_part=True)
    last = [hook.function for hook in hooks if hook.kind == "after"]
    return _add_before_and_after(handler, first, last) if first or last else handler


def _add_override(function: Handler, call_next: Handler) -> Handler:
    async def handler(ctx: Context, **keywords: Any) -> Any:
        result = await function(ctx, call_next, **keywords)
        check_numbers(result)
        return result

    return handler


def _add_before_and_after(
    handler: Handler, first: Iterable[Hook], last: Iterable[Handler]
) -> Handler:
    async def run_with_hooks(ctx: Context, **keywords: Any) -> Any:
        arguments = MappingProxyType(keywords)
        for hook in first:
            if hook.by_keyword:
                await hook.function(ctx, **keywords)
            else:
                await hook.function(ctx, arguments)
        result = await handler(ctx, **keywords)
        for function in last:
            result = await function(ctx, result)
            check_numbers(result)
        return result

    return run_with_hooks

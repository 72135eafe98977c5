"""What `handlers/` does in place of a generated handler, or before and after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.signatures import place_of

if TYPE_CHECKING:
    from mcpgen.runtime.context import Context
    from mcpgen.runtime.tools import Handler, Tool

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_HOOKS: Final = "__mcpgen_hooks__"  # where a module keeps those that it defines


class CallNext(Protocol[P, R_co]):
    """The generated handler of an operation, as an override gets it.

    `_generated/calls.py` has one such type for each operation, with its arguments spelled out.
    """

    def __call__(
        self, ctx: Context, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R_co]:
        """Call the API as the generated handler does."""
        ...


class Override(Protocol[P, R]):
    """A function that stands in for a generated handler: the same arguments, the same result."""

    def __call__(
        self, ctx: Context, call_next: CallNext[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]:
        """Answer the tool call."""
        ...


Before = Callable[["Context", Mapping[str, Any]], Coroutine[Any, Any, None]]
After = Callable[["Context", R], Coroutine[Any, Any, R]]


def override(operation: str) -> Callable[[Override[P, R]], Override[P, R]]:
    """Let the decorated function answer for an operation, such as "GET /pets/{petId}".

    It gets the generated handler as `call_next`, and calls it as often as it likes or not at all.
    What clients see of the tool stays as it is, and its arguments are valid when they come here.

    Raises:
        ConfigurationError: the function is not async.
    """

    def register(function: Override[P, R]) -> Override[P, R]:
        _register("override", (operation,), function)
        return function

    return register


def before(*operations: str) -> Callable[[Before], Before]:
    """Run the decorated function before the handlers of some operations.

    It gets the valid arguments by the handler's keywords. Raising `ToolError` refuses the call.

    Raises:
        ConfigurationError: the function is not async.
    """

    def register(function: Before) -> Before:
        _register("before", operations, function)
        return function

    return register


def after(*operations: str) -> Callable[[After[R]], After[R]]:
    """Run the decorated function on the results of some operations; what it returns is given.

    Raises:
        ConfigurationError: the function is not async.
    """

    def register(function: After[R]) -> After[R]:
        _register("after", operations, function)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Hook:
    """One decorated function."""

    kind: str  # "override", "before" or "after"
    operations: tuple[str, ...]
    function: FunctionType

    @property
    def place(self) -> str:
        """Where it is written, as `place_of` says it."""
        return place_of(self.function)


def _register(kind: str, operations: tuple[str, ...], function: object) -> None:
    if not isinstance(function, FunctionType) or not inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"{place_of(function)}: `@{kind}` is for async functions")
    hooks = function.__globals__.setdefault(_HOOKS, [])
    hooks.append(Hook(kind, operations, function))


def hooks_of(modules: Iterable[ModuleType]) -> list[Hook]:
    """Give the hooks that these modules define, in their order."""
    return [hook for module in modules for hook in getattr(module, _HOOKS, ())]


def hooked_handlers(tools: Iterable[Tool], hooks: Iterable[Hook]) -> dict[str, Handler]:
    """Give the handler of each tool, by its name, with its hooks around it.

    Raises:
        ConfigurationError: a hook is for no operation, two override one, or an override does not
            take what the operation has; says where it is written.
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
                raise _no_operation(its_hooks[0], operation, tool_of)
            handlers[tool.name] = _hooked(tool, its_hooks)
    return handlers


def _no_operation(hook: Hook, operation: str, known: Iterable[str]) -> ConfigurationError:
    import difflib  # for this one sentence

    close = difflib.get_close_matches(operation, known, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return ConfigurationError(
        f"{hook.place}: `@{hook.kind}` is for `{operation}`, which is no operation here{hint}"
    )


def _hooked(tool: Tool, hooks: Iterable[Hook]) -> Handler:
    overrides = [hook for hook in hooks if hook.kind == "override"]
    if len(overrides) > 1:
        raise ConfigurationError(
            f"{overrides[1].place}: `{tool.operation}` is overridden already,"
            f" at {overrides[0].place}"
        )
    handler = tool.generated_handler
    for hook in overrides:
        tool.check_signature(hook.function, ("ctx", "call_next"), f"{hook.place}: the override")
        handler = _overridden(hook.function, handler)
    first = [hook.function for hook in hooks if hook.kind == "before"]
    last = [hook.function for hook in hooks if hook.kind == "after"]
    return _surrounded(handler, first, last) if first or last else handler


def _overridden(function: Handler, call_next: Handler) -> Handler:
    async def handler(ctx: Context, **keywords: Any) -> Any:
        return await function(ctx, call_next, **keywords)

    return handler


def _surrounded(handler: Handler, first: Iterable[Handler], last: Iterable[Handler]) -> Handler:
    async def surrounded(ctx: Context, **keywords: Any) -> Any:
        arguments = MappingProxyType(keywords)
        for function in first:
            await function(ctx, arguments)
        result = await handler(ctx, **keywords)
        for function in last:
            result = await function(ctx, result)
        return result

    return surrounded

"""Conversion of command-line values without pydantic.

typer converts each value with pydantic, which takes longer to import than most commands to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context
from typer.core import TyperArgument, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click import Command


def disable_value_expansion(command: Command, parent: Context | None = None) -> None:
    """Replace typer's conversion in a command and its subcommands.

    Commands check paths themselves, so they do not need typer's checks.
    """
    context = Context(command, parent=parent, **command.context_settings)
    for parameter in command.get_params(context):
        if isinstance(parameter, TyperOption | TyperArgument):
            conversion = _Conversion(parameter)
            parameter.get_runtime_param = conversion.itself  # type: ignore[method-assign]  # typer has no other place for it
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            disable_value_expansion(each, context)


class _Conversion:
    """The conversion of a parameter; typer's own is used only if needed."""

    def __init__(self, parameter: TyperOption | TyperArgument) -> None:
        self._of_typer = parameter.get_runtime_param

    def itself(self) -> Any:
        """Return the object that typer calls to convert a value."""
        return self

    def coerce(self, value: Any, *, param: TyperOption | TyperArgument, ctx: Context) -> Any:
        """Convert a value to the parameter's type."""
        wanted = param.type_descriptor.annotation
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        if wanted == list[str] or (not is_list and isinstance(value, wanted)):
            return value
        if wanted is Path:
            return Path(value)
        return self._of_typer().coerce(value, param=param, ctx=ctx)

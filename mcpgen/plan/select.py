"""Which operations become tools, by glob."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from fnmatch import fnmatchcase

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Operation
from mcpgen.plan.policy import Policy


def select(
    operations: tuple[Operation, ...], policy: Policy, problems: Problems
) -> tuple[Operation, ...]:
    """The operations that `policy` wants, in their order.

    A glob that matches no operation is an error: it is a slip of the pen, or the API changed.
    """
    for glob in (*policy.include, *policy.exclude):
        if not any(_matches(operation, glob) for operation in operations):
            problems.error(
                "selector-without-match",
                f"`{glob}` matches no operation",
                why="it would silently change nothing",
                help=_suggestion(glob, operations),
            )
    return tuple(
        operation
        for operation in operations
        if (not policy.include or any(_matches(operation, glob) for glob in policy.include))
        and not any(_matches(operation, glob) for glob in policy.exclude)
    )


def _matches(operation: Operation, glob: str) -> bool:
    return any(fnmatchcase(text, glob) for text in _texts(operation))


def _texts(operation: Operation) -> Iterable[str]:
    yield from operation.tags or (operation.tag,)
    yield operation.path
    yield operation.key
    if operation.operation_id:
        yield operation.operation_id


def _suggestion(glob: str, operations: tuple[Operation, ...]) -> str:
    known = sorted({text for operation in operations for text in _texts(operation)})
    near = difflib.get_close_matches(glob, known, n=1, cutoff=0.4)
    return (
        f"did you mean `{near[0]}`?" if near else "globs match tags, paths, operationIds and keys"
    )

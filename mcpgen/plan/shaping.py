"""What the manifest has done around a handler, held against what its operation can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError
from mcpgen.ir.api import SAFE_METHODS, Operation
from mcpgen.ir.json_types import JsonSchema
from mcpgen.ir.manifest import EffectiveEntry, PollEntry, ResultEntry
from mcpgen.ir.tool_plan import Argument, Pagination, Shaping
from mcpgen.plan.narrowing import ITEMS, Narrowing, NoMemberError, members, steps
from mcpgen.plan.pagination import size_parameter
from mcpgen.plan.shapes import Shapes
from mcpgen.plan.tool_schema import response_schemas
from mcpgen.runtime.testing.samples import Samples

At = Callable[..., Location]
"""The place of a key of the operation's entry, and of keys inside it."""


def paged(
    pages: Pagination | None, operation: Operation, effective: EffectiveEntry, at: At
) -> Pagination | None:
    """How a list goes on, as far as the manifest lets a call follow.

    Raises:
        OperationRefusedError: the manifest speaks of pages where there are none.
    """
    entry = effective.entry
    if entry.paginate is None:
        return pages
    if pages is None and effective.is_inherited("paginate"):
        return None  # an entry that covers many is for those that have pages
    if pages is None:
        raise OperationRefusedError(
            "paginate-entry",
            f"`{operation.key}` is not read page by page, as far as its description tells",
            at("paginate"),
            "leave `paginate` out",
        )
    return None if entry.paginate is False else replace(pages, most=entry.paginate.max_pages)


class PlannedShaping:
    """Takes over the run-time part of one operation's entry."""

    def __init__(
        self,
        operation: Operation,
        arguments: tuple[Argument, ...],
        pages: Pagination | None,
        responses: Shapes,
        at: At,
    ) -> None:
        self._operation = operation
        self._arguments: Mapping[str, str] = {
            argument.wire_name: argument.name
            for argument in arguments
            if argument.location == "query"
        }
        self._pages = pages
        self._responses = responses
        self._at = at

    def of(self, effective: EffectiveEntry) -> Shaping:
        """What is done around the handler.

        Raises:
            OperationRefusedError: it contradicts the operation, or itself.
        """
        entry = effective.entry
        shaping = Shaping(
            confirm=entry.confirm,
            timeout_seconds=entry.timeout_seconds,
            attempts=None if entry.retry is None else entry.retry.attempts,
        )
        if entry.poll is not None:
            self._check_poll(entry.poll)
            shaping = replace(shaping, poll=entry.poll)
        if entry.result is None:
            return shaping
        if effective.is_inherited("result") and not entry.result.select:
            schemas, _ = response_schemas(self._operation)
            if not schemas:
                return shaping  # an entry that covers many bounds the results that there are
        return self._with_result(shaping, entry.result)

    def _with_result(self, shaping: Shaping, wish: ResultEntry) -> Shaping:
        schemas = self._schemas("result")
        for number, path in enumerate(wish.select):
            tokens = ("result", "select", str(number))
            self._follow(schemas, path, *tokens)
            for other in wish.select[:number]:
                shorter, longer = sorted((steps(path), steps(other)), key=len)
                if longer[: len(shorter)] == shorter:
                    message = f"`{other}` and `{path}` keep the same member"
                    raise self._refused(message, "leave one of them out", *tokens)
        return replace(
            shaping,
            select=members(wish.select),
            max_items=wish.max_items,
            max_bytes=wish.max_bytes,
            rest=self._rest(wish),
        )

    def _rest(self, wish: ResultEntry) -> str:
        """Say how to go on where a result is cut."""
        if wish.max_items is None and wish.max_bytes is None:
            return ""
        pages = self._pages
        size = self._arguments.get(size_parameter(self._operation), "")
        following = "" if pages is None else self._arguments.get(pages.parameter, "")
        if size and wish.max_items is not None:
            go_on = f", and go on with `{following}`" if following else ""
            return f"Ask for at most {wish.max_items} items a page by `{size}`{go_on}."
        if size or following:
            names = " and ".join(f"`{name}`" for name in (size, following) if name)
            return f"Smaller pages show the rest, by {names}."
        return "Arguments that ask for less show the rest." if self._arguments else ""

    def _check_poll(self, poll: PollEntry) -> None:
        method = self._operation.method
        if method not in SAFE_METHODS:
            raise self._refused(
                f"a `{method}` has its effect each time it is sent, and polling sends it again",
                "poll the operation that reads the state",
                "poll",
            )
        if poll.interval_seconds >= poll.timeout_seconds:
            raise self._refused(
                "the first wait would be over after the timeout",
                "make `interval_seconds` less than `timeout_seconds`",
                "poll",
            )
        found = self._follow(self._schemas("poll"), poll.until, "poll", "until")
        if ITEMS in steps(poll.until):
            raise self._refused(
                f"`{poll.until}` leads to more than one value",
                "name one member: `status`, `job.state`",
                "poll",
                "until",
            )
        samples = Samples(self._responses.schemas, "response")
        for number, value in enumerate(poll.values):
            problem = samples.problem({"anyOf": found}, value)
            if problem:
                raise self._refused(
                    f"`{poll.until}` never has this value", problem, "poll", "values", str(number)
                )

    def _schemas(self, key: str) -> list[JsonSchema]:
        schemas, _ = response_schemas(self._operation)
        if not schemas:
            raise self._refused(
                "no JSON comes back, as far as its description tells", f"leave `{key}` out", key
            )
        return schemas

    def _follow(self, schemas: list[JsonSchema], path: str, *tokens: str) -> list[JsonSchema]:
        """The schemas of what a path leads to."""
        narrowing, led = Narrowing(self._responses), ""
        for step in steps(path):
            try:
                schemas = narrowing.inside(schemas, step, led)
            except NoMemberError as error:
                raise self._refused(str(error), error.help, *tokens) from None
            led = f"{led}{step}" if step == ITEMS else f"{led}.{step}".lstrip(".")
        return schemas

    def _refused(self, message: str, help: str, *tokens: str) -> OperationRefusedError:
        return OperationRefusedError(
            f"{tokens[0]}-entry", f"`{self._operation.key}`: {message}", self._at(*tokens), help
        )

"""Results of tools: accepted media types, output schema and return type."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError
from mcpgen.ir.api import IDEMPOTENT_METHODS, SAFE_METHODS, Operation
from mcpgen.ir.manifest_entries import EffectiveEntry, OperationEntry, PollEntry, ResultEntry
from mcpgen.ir.tool_plan import Annotation, Pagination, ResultPolicies
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.arguments.media_types import is_json, rank_media_types
from mcpgen.plan.schemas.output_profile import (
    ITEMS,
    NoMemberError,
    Projection,
    nest_paths,
    split_path,
)
from mcpgen.plan.schemas.tool_schema import OutputSchema, ToolSchemas, list_response_schemas
from mcpgen.plan.schemas.types import Types
from mcpgen.text.media_types import essence_of


def plan_result(
    operation: Operation, hint: str, policies: ResultPolicies, schemas: ToolSchemas, types: Types
) -> tuple[OutputSchema | None, Annotation]:
    """Return the output schema of a tool, if it has one, and the type that its handler returns.

    `hint` names the class that an inline object needs.
    """
    found, is_sure = list_response_schemas(operation)
    if not found:
        return None, _returns_without_json(operation)
    schema = found[0] if len(found) == 1 else {"anyOf": found}
    narrowing = Projection(schemas.responses)
    output = schemas.output(narrowing.project(found, dict(policies.select)))
    if not is_sure or len(found) > 1:
        return output, Annotation("object")
    typed = types.of(schema, "response", f"{hint}Result")
    returns = typed.annotation if "|" not in typed.source else Annotation("object")
    if "Literal[" in returns.source or returns.source == "None":
        returns = Annotation("object")
    return output, returns


def _returns_without_json(operation: Operation) -> Annotation:
    """Return the type of a result without JSON: `None` if no response has content."""
    successful = [item for item in operation.responses if item.status.startswith("2")]
    described = successful or [item for item in operation.responses if item.status == "default"]
    is_empty = described and not any(item.content for item in described)
    return Annotation("None") if is_empty or operation.method == "HEAD" else Annotation("object")


def list_accepted_types(operation: Operation) -> tuple[str, ...]:
    """Return the media types to accept: only JSON if there is JSON, so that the API chooses it.

    If only a later status has JSON, such as 202 until a file is ready, all types are accepted: the
    API could not send the file otherwise.
    """
    for prefix in ("2", "default", ""):
        responses = [
            it for it in operation.responses if it.status.startswith(prefix) and it.content
        ]
        content = [item for response in responses for item in response.content]
        names = dict.fromkeys(essence_of(item.media_type) for item in rank_media_types(content))
        if names:
            first = min(responses, key=lambda it: it.status.upper().replace("X", "~"))
            of_json = ["application/json" if "*" in it else it for it in names if is_json(it)]
            first_has_json = prefix != "2" or any(is_json(it.media_type) for it in first.content)
            return tuple(of_json if of_json and first_has_json else names)
    return ("*/*",)


def list_other_types(operation: Operation, accepted: Collection[str]) -> tuple[str, ...]:
    """Return the media types of successful responses that the `Accept` header does not list."""
    names = {
        essence_of(item.media_type)
        for response in operation.responses
        if response.status.startswith("2")
        for item in response.content
    }
    return tuple(sorted(names.difference(accepted)))


At = Callable[..., Location]
"""The place of a key of the operation's entry, and of keys inside it."""


def limit_pages(
    pages: Pagination | None,
    operation: Operation,
    effective: EffectiveEntry,
    at: At,
    *,
    repeats: bool,
) -> Pagination | None:
    """Return the pagination of a list, limited by the manifest.

    `repeats` states that a call may be sent again, for another page; otherwise there is none.

    Raises:
        OperationRefusedError: the manifest limits pages, and the operation has none.
    """
    entry = effective.entry
    if pages is not None and not repeats:
        if not entry.paginate or effective.is_inherited("paginate"):
            return None
        raise OperationRefusedError(
            "paginate-entry",
            f"`{operation.key}` is not known to be read-only, so that it is sent once per call",
            at("paginate"),
            "where it changes nothing, state `annotations: {readOnlyHint: true}` beside it",
        )
    if entry.paginate is None:
        return pages
    if pages is None and effective.is_inherited("paginate"):
        return None  # an entry that covers many is for those that have pages
    if pages is None:
        raise OperationRefusedError(
            "paginate-entry",
            f"`{operation.key}` has no pagination that mcpgen recognizes",
            at("paginate"),
            "leave `paginate` out",
        )
    return None if entry.paginate is False else replace(pages, most=entry.paginate.max_pages)


class ResultPolicyPlanning:
    """Planning of the result policies of one operation."""

    def __init__(
        self,
        operation: Operation,
        hints: JsonObject,
        responses: Shapes,
        at: At,
    ) -> None:
        """Initialize with the parts of a tool; `hints` are its annotations."""
        self._operation = operation
        self._hints = hints
        self._responses = responses
        self._at = at

    def of(self, effective: EffectiveEntry) -> ResultPolicies:
        """Return the policies that apply around the handler.

        Raises:
            OperationRefusedError: a policy contradicts the operation or another policy.
        """
        entry = effective.entry
        policies = ResultPolicies(
            confirm=entry.confirm,
            timeout_seconds=entry.timeout_seconds,
            max_concurrent=entry.max_concurrent,
            attempts=self._choose_attempts(entry),
        )
        if entry.poll is not None and not entry.poll.operation:
            self.check_method()
            self.check_poll(entry.poll)
            policies = replace(policies, poll=entry.poll)
        if entry.result is None:
            return policies
        schemas, _ = list_response_schemas(self._operation)
        if effective.is_inherited("result") and not entry.result.select and not schemas:
            return policies  # an entry that covers many bounds the results that there are
        return self._with_result(policies, entry.result)

    def _choose_attempts(self, entry: OperationEntry) -> int | None:
        """Return the attempts of the manifest, or 1 where each attempt would have an effect.

        None for the limit of the server, which applies to idempotent methods.
        """
        if entry.retry is not None:
            return entry.retry.attempts
        is_repeated = self._operation.method in IDEMPOTENT_METHODS
        return 1 if is_repeated and not self._hints["idempotentHint"] else None

    def _with_result(self, policies: ResultPolicies, entry: ResultEntry) -> ResultPolicies:
        schemas = self._list_schemas("result")
        for number, path in enumerate(entry.select):
            tokens = ("result", "select", str(number))
            self._follow(schemas, path, *tokens)
            for other in entry.select[:number]:
                shorter, longer = sorted((split_path(path), split_path(other)), key=len)
                if longer[: len(shorter)] == shorter:
                    message = f"`{other}` and `{path}` keep the same member"
                    raise self._make_refusal(message, "leave one of them out", *tokens)
        return replace(
            policies,
            select=nest_paths(entry.select),
            max_items=entry.max_items,
            max_bytes=entry.max_bytes,
        )

    def check_method(self) -> None:
        """Check that the request can be repeated.

        Raises:
            OperationRefusedError: it changes something.
        """
        method = self._operation.method
        if method not in SAFE_METHODS:
            raise self._make_refusal(
                f"a `{method}` has its effect each time it is sent, and polling sends it again",
                "poll the operation that reads the state",
                "poll",
            )
        if not self._hints["readOnlyHint"]:
            raise self._make_refusal(
                f"`{self._operation.key}` is not read-only, and polling sends it again",
                "poll the operation that reads the state; or, where this one changes nothing, say "
                "so of it in `mcpgen.yaml`: `annotations: {readOnlyHint: true}`",
                "poll",
            )

    def check_poll(self, poll: PollEntry) -> None:
        """Check that the responses can have the awaited values.

        Raises:
            OperationRefusedError: they cannot.
        """
        if poll.interval_seconds >= poll.timeout_seconds:
            raise self._make_refusal(
                "the first wait would be over after the timeout",
                "make `interval_seconds` less than `timeout_seconds`",
                "poll",
            )
        found = self._follow(self._list_schemas("poll"), poll.until, "poll", "until")
        if ITEMS in split_path(poll.until):
            raise self._make_refusal(
                f"`{poll.until}` leads to more than one value",
                "name one member: `status`, `job.state`",
                "poll",
                "until",
            )
        samples = Samples(self._responses.schemas, "response")
        for number, value in enumerate(poll.values):
            problem = samples.problem({"anyOf": found}, value)
            if problem:
                raise self._make_refusal(
                    f"`{poll.until}` never has this value", problem, "poll", "values", str(number)
                )

    def _list_schemas(self, key: str) -> list[JsonSchema]:
        schemas, _ = list_response_schemas(self._operation)
        if not schemas:
            raise self._make_refusal(
                "its description has no JSON response", f"leave `{key}` out", key
            )
        return schemas

    def _follow(self, schemas: list[JsonSchema], path: str, *tokens: str) -> list[JsonSchema]:
        """Return the schemas at a path of the response."""
        narrowing, led = Projection(self._responses), ""
        for step in split_path(path):
            try:
                schemas = narrowing.find_inside(schemas, step, led)
            except NoMemberError as error:
                raise self._make_refusal(str(error), error.help, *tokens) from None
            led = f"{led}{step}" if step == ITEMS else f"{led}.{step}".lstrip(".")
        return schemas

    def _make_refusal(self, message: str, help: str, *tokens: str) -> OperationRefusedError:
        return OperationRefusedError(
            f"{tokens[0]}-entry", f"`{self._operation.key}`: {message}", self._at(*tokens), help
        )

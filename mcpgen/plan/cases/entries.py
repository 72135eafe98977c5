"""Entries of `tests/generated/cases.json`, one per tool (read by `mcpgen.testing.suite.cases`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcpgen.contract import failures
from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Operation, SecurityScheme
from mcpgen.ir.manifest_entries import PollEntry
from mcpgen.ir.tool_plan import ResultPolicies, ServerPlan, ToolPlan
from mcpgen.jsonschema.samples import CannotSampleError
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.arguments.media_types import is_json
from mcpgen.plan.cases.calls import (
    PLACES,
    Call,
    Calls,
    CaseContext,
    choose_requirement,
    get_schema,
)
from mcpgen.plan.cases.pages import make_pages
from mcpgen.plan.cases.parts import make_parts
from mcpgen.plan.cases.refusals import MOST_REFUSALS, Refusals
from mcpgen.plan.cases.variations import Variations
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.text.media_types import essence_of

SMALLEST_CALL = "smallest arguments"
EXAMPLE_CALL = "example"
_SHOWN_RULES = 5
_RULES, _MORE_RULES = "rules", "more rules"
GIVE_EXAMPLE = "add a valid `example` to the schema, in the document or in an overlay"
_TEST_BY_HAND = "write a test in `tests/` if one of these rules matters"
_HELP = {_RULES: _TEST_BY_HAND, _MORE_RULES: _TEST_BY_HAND}
_UNHEARD_OF = frozenset({"*/*", "application/*", "application/x-unheard-of"})  # media types
_CREDENTIAL_PARTS = frozenset({"access_token", "certificate_file", "password", "username", "value"})
_MAX_OMITTED = 50  # requirements of a tool, and schemes of each, that are omitted in turn
_CLIENT_PARTS = frozenset({"client_id", "client_secret"})


def make_cases(
    plan: ServerPlan, problems: Problems, tools: Sequence[ToolPlan] | None = None
) -> list[JsonObject]:
    """Return the entries of `tests/generated/cases.json` for `tools`, by default all tools.

    A case without a sample is listed under `untested` with the reason, and reported as a note.
    """
    making = CaseMaking(CaseContext.of(plan), plan.api.schemas)
    tools = plan.tools if tools is None else tools
    entries = [making.entry(tool) for tool in tools]
    for tool, entry in zip(tools, entries, strict=True):
        note_missing_samples(tool, entry, problems)
    return entries


def note_missing_samples(tool: ToolPlan, entry: JsonObject, problems: Problems) -> None:
    """Report each case of a tool for which its entry has no sample."""
    for untested in entry.get("untested", ()):
        case = f"`{tool.name}: {untested['what']}`"
        problems.note(
            "untested",
            f"the tests do not violate every rule of `{tool.name}`"
            if untested["what"] == _MORE_RULES
            else f"no sample generated for the test case {case}",
            at=tool.operation.at,
            why=untested["why"],
            help=_HELP.get(untested["what"], GIVE_EXAMPLE),
        )


class CaseMaking:
    """Generation of the entries of one server."""

    def __init__(self, context: CaseContext, schemas: Mapping[str, JsonSchema]) -> None:
        """Initialize with the named schemas that the tools refer to."""
        self._limits = context.limits
        self._calls = Calls(context, schemas)
        self._variations = Variations(self._calls)
        self._refusals = Refusals(self._calls)
        requested_parts = {
            scheme.id: _find_requested_parts(scheme) for scheme in context.security_schemes
        }
        self._configured: dict[str, list[str]] = {}  # variables by scheme
        self._requested_variables: dict[str, list[str]] = {}
        for variable in context.variables:
            part = variable.part or "value"
            if variable.scheme and part in _CREDENTIAL_PARTS:
                self._configured.setdefault(variable.scheme, []).append(variable.name)
            if variable.scheme and part in requested_parts[variable.scheme]:
                self._requested_variables.setdefault(variable.scheme, []).append(variable.name)

    def make_entry_to_cache(self, tool: ToolPlan) -> tuple[JsonObject, bool]:
        """Return the entry of a tool, and whether it is the same if other tools come before it."""
        self._calls.bounds.has_mattered = False
        entry = self.entry(tool)
        return entry, not self._calls.bounds.has_mattered

    def entry(self, tool: ToolPlan) -> JsonObject:
        """Return all cases of one tool, including the list of untested ones."""
        entry: JsonObject = {"tool": tool.name, "operation": tool.operation.key}
        if tool.operation.source:  # then its key does not begin with the method
            entry["method"] = tool.operation.method
        untested: list[JsonObject] = []
        if reason := self._explain_unanswerable(tool.operation):
            entry["reply"] = {"status": _choose_success_status(tool.operation), "text": ""}
            untested.append({"what": "result", "why": f"no sample of the response: {reason}"})
        elif tool.policies.poll is not None:
            entry["reply"] = self._make_awaited_reply(tool.operation, tool.policies.poll)
        entry |= _describe_policies(tool.policies, self._limits)
        if tool.idempotency_header:
            entry["has_key"] = True
        try:
            smallest = self._calls.call(tool, "smallest")
        except CannotSampleError as error:
            untested.append({"what": SMALLEST_CALL, "why": str(error)})
        else:
            fullest = self._make_fullest(tool, smallest, untested)
            entry |= self._collect_settings(tool)
            entry["calls"] = list(self._iterate_calls(tool, smallest, fullest))
            entry["refused"] = self._collect_refusals(tool, smallest, fullest, untested)
            entry |= self._make_pages(tool, smallest, untested)
            entry["parts"] = [] if tool.policies.poll is not None else make_parts(tool)
            entry["failures"] = list(_iterate_failures(tool))
            if used := choose_requirement(tool.operation):
                entry["variables"] = _collect_variables(used, self._configured)
                entry["credentials"] = list(self._iterate_credential_cases(tool))
        if untested:
            entry["untested"] = untested
        return {key: value for key, value in entry.items() if value != []}

    def _collect_settings(self, tool: ToolPlan) -> JsonObject:
        """Return the values of the settings that a tool reads, and the names of required ones."""
        used = [fixed.setting for fixed in tool.fixed if fixed.setting is not None]
        if not used:
            return {}
        return {
            "settings": self._calls.settings.environment([tool]),
            "needed_settings": sorted({setting.name for setting in used if setting.required}),
        }

    def _make_fullest(self, tool: ToolPlan, smallest: Call, untested: list[JsonObject]) -> Call:
        """Return the largest call, or `smallest` if there is no sample of it."""
        try:
            return self._calls.call(tool, "largest")
        except CannotSampleError as error:
            untested.append({"what": "largest arguments", "why": str(error)})
            return smallest

    def _make_example(self, tool: ToolPlan, smallest: Call) -> Call | None:
        """Return a call with the document's examples, or else with typical values.

        None if it is `smallest`.
        """
        try:
            example = self._calls.call(tool, "example")
        except CannotSampleError:
            return None
        return example if example.arguments != smallest.arguments else None

    def _iterate_calls(self, tool: ToolPlan, smallest: Call, fullest: Call) -> Iterator[JsonObject]:
        yield _format_call(SMALLEST_CALL, smallest)
        if fullest.arguments != smallest.arguments:
            omitted = fullest.leave_out(tool, smallest)
            yield _format_call("largest arguments", fullest.beyond(smallest), omitted)
        if (example := self._make_example(tool, smallest)) is not None:
            omitted = example.leave_out(tool, smallest)
            yield _format_call(EXAMPLE_CALL, example.beyond(smallest), omitted)
        for what, call in self._variations.of(tool, fullest):
            yield _format_call(what, call, call.leave_out(tool, smallest))

    def _collect_refusals(
        self, tool: ToolPlan, smallest: Call, fullest: Call, untested: list[JsonObject]
    ) -> list[JsonObject]:
        found, unbroken = self._refusals.of(tool, smallest, fullest)
        if unbroken:
            shown = ", ".join(unbroken[:_SHOWN_RULES])
            more = f" and {len(unbroken) - _SHOWN_RULES} more" * (len(unbroken) > _SHOWN_RULES)
            why = f"no value was found that breaks {shown}{more}"
            untested.append({"what": _RULES, "why": why})
        if len(found) > MOST_REFUSALS:
            rest = len(found) - MOST_REFUSALS
            why = f"only {MOST_REFUSALS} rules of a tool are tested; {rest} are not"
            untested.append({"what": _MORE_RULES, "why": why})
        return found[:MOST_REFUSALS]

    def _make_pages(
        self, tool: ToolPlan, smallest: Call, untested: list[JsonObject]
    ) -> dict[str, JsonObject]:
        try:
            pages = make_pages(tool, smallest, self._calls)
        except CannotSampleError as error:
            untested.append({"what": "pages", "why": str(error)})
            return {}
        return {} if pages is None else {"pages": pages}

    def _explain_unanswerable(self, operation: Operation) -> str:
        """Explain why the mock API cannot generate a response; "" if it can."""
        for response in operation.responses:
            for media_type in response.content:
                if response.status.startswith("2") and is_json(media_type.media_type):
                    try:
                        schema, examples = get_schema(media_type), media_type.examples
                        self._calls.answered.choose_example(schema, examples)
                    except CannotSampleError as error:
                        return str(error)
        return ""

    def _make_awaited_reply(self, operation: Operation, poll: PollEntry) -> JsonObject:
        """Return the response at which a tool stops polling."""
        expected: JsonSchema = {"const": poll.values[0]}
        for name in reversed(poll.until.split(".")):
            expected = {"type": "object", "properties": {name: expected}, "required": [name]}
        schemas, _ = list_response_schemas(operation)
        body = self._calls.answered.sample(
            {"allOf": [{"anyOf": schemas}, expected]}, seed="awaited"
        )
        return {"status": _choose_success_status(operation), "body": body}

    def _iterate_credential_cases(self, tool: ToolPlan) -> Iterator[JsonObject]:
        """Yield the sent or missing credentials for each incomplete configuration."""
        alternatives = [
            tuple(use.scheme for use in requirement) for requirement in tool.operation.security
        ]
        settings: list[tuple[str, ...]] = [()]
        for names in alternatives[:_MAX_OMITTED]:
            settings += [
                tuple(other for other in names if other != name) for name in names[:_MAX_OMITTED]
            ]
            if len(alternatives) > 1:
                settings.append(names)
        for configured in dict.fromkeys(settings):
            yield {"configured": list(configured), **self._decide_outcome(configured, alternatives)}

    def _decide_outcome(
        self, configured: tuple[str, ...], alternatives: Sequence[tuple[str, ...]]
    ) -> JsonObject:
        """Return the schemes that are sent with a configuration, or the missing variables."""
        available = set(configured)
        for names in alternatives:
            if names and available.issuperset(names):
                return {"sends": list(names)}
        if () in alternatives:
            return {"sends": []}
        missing = [name for name in alternatives[0] if name not in available]
        return {"needs": _collect_variables(missing, self._requested_variables)}


def _find_requested_parts(scheme: SecurityScheme) -> frozenset[str]:
    """Return the parts of a credential that a message about a missing one names."""
    flow = scheme.flows.get("clientCredentials", {})
    can_fetch = scheme.openid_connect_url or flow.get("tokenUrl")
    return _CLIENT_PARTS if can_fetch else _CREDENTIAL_PARTS


def _collect_variables(schemes: Sequence[str], variables: Mapping[str, Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for scheme in schemes for name in variables.get(scheme, ())))


def _describe_policies(policies: ResultPolicies, limits: Mapping[str, float]) -> JsonObject:
    """Return the attempts, the timeout and the limits of results of a tool, if it has any.

    `limits` are other defaults of the server, by name.
    """
    kept = {
        "select": dict(policies.select) or None,
        "max_items": policies.max_items,
        "max_bytes": policies.max_bytes,
    }
    attempts, timeout = policies.attempts, policies.timeout_seconds
    entry = {
        "attempts": limits.get("max_attempts") if attempts is None else attempts,
        "timeout_seconds": limits.get("timeout_seconds") if timeout is None else timeout,
        "kept": {name: bound for name, bound in kept.items() if bound is not None} or None,
    }
    return {name: value for name, value in entry.items() if value is not None}


def _format_call(what: str, call: Call, omitted: Sequence[str] = ()) -> JsonObject:
    request = {
        place: value for place, value in call.request.items() if place not in PLACES or value
    }
    entry: JsonObject = {"what": what, "arguments": call.arguments, "request": request}
    return {**entry, "without": [*omitted]} if omitted else entry


def _iterate_failures(tool: ToolPlan) -> Iterator[str]:
    """Yield the failures of the API to test: documented statuses and general faults."""
    documented = (response.status for response in tool.operation.responses)
    statuses = {status for status in documented if status.isdigit() and int(status) >= 400}
    yield from sorted(statuses.union(failures.GENERAL_STATUSES), key=int)
    yield failures.REDIRECT
    if choose_requirement(tool.operation):
        yield failures.ECHO
    if tool.operation.method != "HEAD":
        yield failures.BAD_JSON
        accepted = {essence_of(each) for each in (*tool.accept, *tool.also_answered)}
        if tool.returns.source != "None" and accepted.isdisjoint(_UNHEARD_OF):
            yield failures.WRONG_MEDIA_TYPE
    if tool.policies.poll is None:  # polling would continue
        yield failures.NO_CONTENT
    yield from (failures.TIMEOUT, failures.REFUSED, failures.RESET)


def _choose_success_status(operation: Operation) -> int:
    documented = [item.status for item in operation.responses if item.status.startswith("2")]
    return min((int(status) for status in documented if status.isdigit()), default=200)

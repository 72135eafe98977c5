"""Planning of merged tools: one listed tool for several similar operations.

Each operation keeps its own tool, which is not listed any more and serves the calls: the request,
the credentials, the pages and the result are those of the operation. The merged tool has the
arguments of all of them, and one that selects the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.manifest_entries import EFFECTS, MergedEntry
from mcpgen.ir.portable_profile import MAX_DESCRIPTION
from mcpgen.ir.tool_plan import (
    MEMBER,
    Annotation,
    Argument,
    HintReason,
    MergedMember,
    ResultPolicies,
    ToolPlan,
)
from mcpgen.jsonschema.agreement import find_difference
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.naming.names import to_class_name, to_identifier
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.descriptions import DELETE_NOTE
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.targets import token_cost
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.prose import end_sentence, first_sentence, plain_line, plain_text, shorten

T = TypeVar("T")

_MAX_LINE = 160  # characters about one operation
_MAX_TITLE = 80
_CAUTION = {"readOnlyHint": all, "destructiveHint": any, "idempotentHint": all,
            "openWorldHint": any}  # fmt: skip


class DisagreementError(ValueError):
    """Tools cannot be merged: the message states why, `choice` which one, `help` what to do."""

    def __init__(self, choice: str, message: str, help: str) -> None:
        super().__init__(message)
        self.choice = choice
        self.help = help


def merge_tools(name: str, entry: MergedEntry, members: Mapping[str, ToolPlan]) -> ToolPlan:
    """Return the tool that serves several operations; `members` are their tools, by choice.

    Raises:
        DisagreementError: their schemas do not agree.
    """
    return _Merging(name, entry, members).merge()


def check_agreement(entry: MergedEntry, members: Mapping[str, ToolPlan]) -> None:
    """Raise an error if `merge_tools` cannot make one tool of several operations.

    Raises:
        DisagreementError: their schemas do not agree.
    """
    _Merging("", entry, members).check()


class _Merging:
    """Merging of the tools of one entry."""

    def __init__(self, name: str, entry: MergedEntry, members: Mapping[str, ToolPlan]) -> None:
        self._name = name
        self._scope = entry.argument
        self._entry = entry
        self._members = members
        self._tools = list(members.values())

    def check(self) -> JsonObject:
        """Return the listed schema of the arguments.

        Raises:
            DisagreementError: results or arguments differ.
        """
        self._check_results()
        return self._merge_inputs()

    def merge(self) -> ToolPlan:
        input_schema = self.check()
        first = max(self._tools, key=lambda tool: EFFECTS.index(tool.effect))
        title = plain_line(self._entry.title) or self._join_titles()
        annotations: JsonObject = {"title": title}
        reasons = {}
        for hint, combine in _CAUTION.items():
            annotations[hint] = combine(tool.annotations[hint] for tool in self._tools)
            decisive = next(it for it in self._tools if it.annotations[hint] == annotations[hint])
            reasons[hint] = HintReason(rule="merged", evidence=f"as `{decisive.key}`")
        merged = ToolPlan(
            name=self._name,
            function=to_identifier(self._name),
            call_type=to_identifier(f"{to_class_name(self._name)}Call"),
            title=title,
            description=self._write_description(title),
            operation=first.operation,
            arguments=self._merge_arguments(input_schema),
            input_schema=input_schema,
            full_input_schema=None,
            output_schema=first.output_schema,
            result_key=first.result_key,
            output_is_cut=first.output_is_cut,
            returns=first.returns,
            annotations=annotations,
            accept=first.accept,
            token_cost=0,
            effect=first.effect,
            hint_reasons=reasons,
            body=first.body,
            pagination=self._find_common(lambda tool: tool.pagination, None),
            continuation=self._find_common(lambda tool: tool.continuation, ""),
            fields=self._find_common(lambda tool: tool.fields, ""),
            policies=ResultPolicies(
                confirm=next((it.policies.confirm for it in self._tools if it.policies.confirm), "")
            ),
            scope=self._scope,
            merges=tuple(
                MergedMember(choice, tool.name, tool.operation)
                for choice, tool in self._members.items()
            ),
        )
        return replace(merged, token_cost=token_cost(merged))

    def _merge_arguments(self, input_schema: JsonObject) -> tuple[Argument, ...]:
        """Return the arguments of all tools, the selecting one first."""
        required = input_schema["required"]
        found = {it.name: it for tool in self._tools for it in tool.arguments}
        scope = Argument(
            name=self._scope,
            identifier=to_identifier(self._scope),
            location="scope",
            wire_name="",
            required=True,
            annotation=Annotation("str"),
            schema=input_schema["properties"][self._scope],
        )
        others = (replace(it, required=it.name in required) for it in found.values())
        return (scope, *sorted(others, key=lambda it: not it.required))

    def _find_common(self, read: Callable[[ToolPlan], T], otherwise: T) -> T:
        """Return what all tools have in common, or else `otherwise`."""
        found = read(self._tools[0])
        return found if all(read(tool) == found for tool in self._tools) else otherwise

    def _check_results(self) -> None:
        """Reject tools whose results differ."""
        (_, first), *others = self._members.items()
        for choice, tool in others:
            difference = find_difference(first.output_schema, tool.output_schema)
            if difference is None and tool.result_key == first.result_key:
                continue
            at = f" at `{json_pointer(difference)}`" if difference else ""
            raise DisagreementError(
                choice,
                f"the results of `{tool.key}` and `{first.key}` differ{at}",
                "leave one of them out; where the API returns the same, correct the document with"
                " an overlay",
            )

    def _merge_inputs(self) -> JsonObject:
        """Return the listed schema of the arguments.

        Raises:
            DisagreementError: two tools have different arguments of the same name.
        """
        properties: JsonObject = {}
        definitions: JsonObject = {}
        for choice, tool in self._members.items():
            self._take_over(properties, tool.input_schema.get("properties", {}), choice)
            self._take_over(definitions, tool.input_schema.get("$defs", {}), choice)
        needed = {choice: _list_required_arguments(tool) for choice, tool in self._members.items()}
        scope = {
            "type": "string",
            "enum": [*self._members],
            "description": f"Selects the operation: {self._describe_choices(needed)}.",
        }
        required = [name for name in properties if all(name in names for names in needed.values())]
        described = {
            name: self._describe_use(name, schema, needed) for name, schema in properties.items()
        }
        return {
            "type": "object",
            "properties": {self._scope: scope, **described},
            "required": [self._scope, *required],
            "additionalProperties": False,
            **({"$defs": definitions} if definitions else {}),
        }

    def _take_over(self, known: JsonObject, added: JsonObject, choice: str) -> None:
        for name, schema in added.items():
            if name == self._scope:
                raise DisagreementError(
                    choice,
                    f"`{self._members[choice].key}` has an argument `{name}` of its own",
                    "give the argument that selects the operation another name: `argument: level`",
                )
            if name in known and (found := find_difference(known[name], schema)) is not None:
                owner = next(
                    tool.key
                    for tool in self._tools
                    if name in {**tool.input_schema.get("properties", {}),
                                **tool.input_schema.get("$defs", {})}
                )  # fmt: skip
                at = f" at `{json_pointer(found)}`" if found else ""
                raise DisagreementError(
                    choice,
                    f"the argument `{name}` of `{self._members[choice].key}` differs{at}",
                    f"`{owner}` has another argument of this name: rename one under `operations`"
                    f" (`parameters: {{{name}: {{name: ...}}}}`), or leave the operation out",
                )
            known.setdefault(name, schema)

    def _describe_choices(self, needed: Mapping[str, Sequence[str]]) -> str:
        """Return each choice with the arguments that it, but not every other one, requires."""
        common = set.intersection(*map(set, needed.values()))
        parts = []
        for choice, names in needed.items():
            own = [f"`{name}`" for name in names if name not in common]
            parts.append(f"`{choice}`" + (f" (needs {', '.join(own)})" if own else ""))
        return ", ".join(parts)

    def _describe_use(
        self, name: str, schema: JsonObject, needed: Mapping[str, Sequence[str]]
    ) -> JsonObject:
        """Return the schema of an argument that states for which choices it is."""
        using = [
            choice
            for choice, tool in self._members.items()
            if name in tool.input_schema.get("properties", {})
        ]
        needing = [choice for choice in using if name in needed[choice]]
        note = ""
        if len(using) < len(self._members):
            note = f"Only for {_join_codes(using)}"
            note += f"; {_join_codes(needing)} needs it." if needing not in ([], using) else "."
        elif needing and len(needing) < len(using):
            note = f"Required for {_join_codes(needing)}."
        if not note:
            return schema
        description = end_sentence(str(schema.get("description", "")))
        return {**schema, "description": f"{description} {note}".lstrip()}

    def _join_titles(self) -> str:
        """Return the words that the titles share, in their order; at least two, else the name."""
        shared = self._tools[0].title.split()
        for tool in self._tools[1:]:
            shared = find_common_words(shared, tool.title.split())
        title = " ".join(shared).rstrip(",;:")
        if len(shared) < 2:
            title = self._name.replace("_", " ").capitalize()
        return shorten(title, _MAX_TITLE)

    def _write_description(self, title: str) -> str:
        summary = plain_text(self._entry.description) or end_sentence(title)
        deleting = any(tool.operation.method == "DELETE" for tool in self._tools)
        ending = f"\n{DELETE_NOTE}" if deleting else ""
        intro = f"{summary}\n`{self._scope}` selects one of {len(self._tools)} operations:"
        room = (MAX_DESCRIPTION - len(intro) - len(ending)) // len(self._tools)
        lines = [
            shorten(f"\n- `{choice}`: {first_sentence(tool.description, _MAX_LINE)}", max(room, 30))
            for choice, tool in self._members.items()
        ]
        return shorten(f"{intro}{''.join(lines)}{ending}", MAX_DESCRIPTION)


def find_common_words(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the longest common subsequence of two lists of words, whatever their case."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for row in range(len(one) - 1, -1, -1):
        for column in range(len(other) - 1, -1, -1):
            is_same = one[row].lower() == other[column].lower()
            below = max(lengths[row + 1][column], lengths[row][column + 1])
            lengths[row][column] = lengths[row + 1][column + 1] + 1 if is_same else below
    found: list[str] = []
    row = column = 0
    while row < len(one) and column < len(other):
        if one[row].lower() == other[column].lower():
            found.append(one[row])
            row, column = row + 1, column + 1
        elif lengths[row + 1][column] >= lengths[row][column + 1]:
            row += 1
        else:
            column += 1
    return found


def _list_required_arguments(tool: ToolPlan) -> Sequence[str]:
    required: Sequence[str] = tool.input_schema.get("required", ())
    return required


def _join_codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def plan_merged_tools(
    tools: Mapping[str, ToolPlan],
    skipped: Iterable[SkippedOperation],
    policy: Policy,
    problems: Problems,
) -> tuple[dict[str, ToolPlan], tuple[ToolPlan, ...]]:
    """Return the tools by operation key, those of merged ones as members, and the merged tools.

    An entry of the manifest that cannot be followed is an error.
    """
    if not policy.manifest.merged:
        return dict(tools), ()
    return _Planning(tools, skipped, policy, problems).plan()


class _Planning:
    """Planning of the merged tools of a server."""

    def __init__(
        self,
        tools: Mapping[str, ToolPlan],
        skipped: Iterable[SkippedOperation],
        policy: Policy,
        problems: Problems,
    ) -> None:
        self._tools = dict(tools)
        self._by_name = {name: tool for tool in tools.values() for name in names_of(tool.operation)}
        self._reasons = {item.operation: item.reason for item in skipped}
        self._policy = policy
        self._problems = problems
        self._owners: dict[str, str] = {}  # merged tools by the operation keys of their members

    def plan(self) -> tuple[dict[str, ToolPlan], tuple[ToolPlan, ...]]:
        merged = []
        for name, entry in sorted(self._policy.manifest.merged.items()):
            self._check_name(name)
            found = {
                choice: self._find_member(name, choice, operation)
                for choice, operation in entry.operations.items()
            }
            members = {choice: tool for choice, tool in found.items() if tool is not None}
            if len(members) < len(found):
                continue
            try:
                merged.append(merge_tools(name, entry, members))
            except DisagreementError as error:
                self._refuse("merged-schemas", str(error), (name, error.choice), error.help)
        for key in self._owners:
            self._tools[key] = replace(self._tools[key], exposed_as=MEMBER)
        return self._tools, tuple(merged)

    def _check_name(self, name: str) -> None:
        for tool in self._tools.values():
            if name == tool.name or name in tool.aliases:
                self._problems.error(
                    "name-collision",
                    f"`{name}` is already the tool of `{tool.key}`",
                    at=self._policy.intent.locate(("merged", name)),
                    why="each operation of a merged tool keeps its own name, for the day on which"
                    " it is split",
                    help="give the merged tool another name",
                )
        if name in self._policy.manifest.workflows:
            self._problems.error(
                "name-collision",
                f"`{name}` is already a workflow",
                at=self._policy.intent.locate(("merged", name)),
                why="a client could call only one of them",
                help="give the merged tool another name",
            )

    def _find_member(self, name: str, choice: str, operation: str) -> ToolPlan | None:
        """Return the tool of an operation of an entry; None after reporting that it has none."""
        tool = self._by_name.get(operation)
        if tool is None:
            message, hint = self._explain_missing(operation)
        elif (owner := self._owners.get(tool.operation.key)) is not None:
            message = f"`{operation}` is already part of `{owner}`"
            hint = "leave it out of one of them"
        elif tool.exposed_as != "tool":
            message = f"`{operation}` is exposed as a {tool.exposed_as}"
            hint = "leave it out here, or remove its `expose` under `operations`"
        elif tool.aliases:
            message = f"`{operation}` has the alias `{tool.aliases[0]}`"
            hint = "remove the alias: calls by this name would lack the argument that selects it"
        elif tool.view is not None:
            message = f"`{operation}` has a view"
            hint = "remove its `view` under `operations`, or leave it out here"
        else:
            self._owners[tool.operation.key] = name
            return tool
        self._refuse("merged-operation", message, (name, choice), hint)
        return None

    def _explain_missing(self, operation: str) -> tuple[str, str]:
        if operation in self._reasons:
            reason = "another diagnostic states why the operation is skipped"
            return f"`{operation}` is skipped, so it has no tool", reason
        otherwise = "name an operationId, or a method and a path: `GET /pets`"
        hint = did_you_mean(operation, self._by_name, otherwise)
        return f"`{operation}` is not an operation of this server", hint

    def _refuse(self, code: str, message: str, place: tuple[str, str], help: str) -> None:
        name, choice = place
        self._problems.error(
            code,
            message,
            at=self._policy.intent.locate(("merged", name, "operations", choice)),
            why=f"the merged tool `{name}` needs it",
            help=help,
        )

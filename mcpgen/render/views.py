"""Views: the values that the templates of `templates/code/` print.

All decisions about names, types and order were made in the plan. A view writes them as Python
source, from checked identifiers, literals and annotations, never from raw text.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec import UNSET, Struct, field

from mcpgen.ir.api import InputRef
from mcpgen.ir.tool_plan import (
    Annotation,
    Argument,
    Fixed,
    ServerPlan,
    ToolGroupPlan,
    ToolPlan,
    WorkflowPlan,
    WorkflowResult,
)
from mcpgen.jsonschema.types import JsonValue
from mcpgen.render.environment import DocText, Source, doc_text, identifier, literal
from mcpgen.render.imports import ImportSections, spell_sections
from mcpgen.text.identifiers import Identifier
from mcpgen.text.prose import cut_at_clause, end_sentence, first_phrase, one_line

LINE_LENGTH = 100
_MAX_TITLE = 60
_MAX_TAG = 40
_TYPING_NAMES = frozenset({"Any", "Literal"})
_BUILT_IN_TYPES = frozenset({"bool", "dict", "float", "int", "list", "object", "str"})
_RUNTIME_NAMES = frozenset({"ABSENT", "Absent", "Context", "ToolGroup"})
_MODULE_NAMES = _TYPING_NAMES | _BUILT_IN_TYPES | _RUNTIME_NAMES | {"ctx", "tools"}
_REQUEST_MAPS = (
    ("path_params", "path"),
    ("query", "query"),
    ("headers", "header"),
    ("cookies", "cookie"),
)


class HandlerView(Struct, frozen=True):
    """One tool's handler. `request` is the arguments of its one call."""

    tool_name: Source
    function: Source
    signature: Source
    returns: Source
    docstring: DocText
    request: Source
    statement: Source  # "return await", or "await" if nothing is returned


class HandlerModule(Struct, frozen=True):
    """`_generated/tools/<module>.py`."""

    title: DocText
    contract_file: Source
    imports: ImportSections
    handlers: tuple[HandlerView, ...]


class PackageView(Struct, frozen=True):
    """The docstrings of the packages inside `_generated/`."""

    title: DocText


class TestsView(Struct, frozen=True):
    """The module that runs the generated tests."""

    package: Source  # its name, as a literal
    has_search: bool  # whether the tools are found by a search
    has_detours: bool  # whether a workflow may go another way than from step to step


def tests_view(plan: ServerPlan) -> TestsView:
    """Return the view of the module in `tests/generated/`."""
    return TestsView(
        package=literal(str(plan.package)),
        has_search=plan.search is not None,
        has_detours=any(
            step.on_success or step.on_failure for each in plan.workflows for step in each.steps
        ),
    )


def workflow_returns(workflow: WorkflowPlan, names: NamesUsed) -> Source:
    """Return the type of a workflow's result; `object` if it is not a class."""
    if isinstance(workflow.returns, WorkflowResult):
        return identifier(workflow.returns.name)
    returns = names.spell(workflow.returns)
    # A type that is not a class cannot be passed to `returns=`.
    is_class = returns != "None" and "|" not in returns and "Literal[" not in returns
    return returns if is_class else Source("object")


def package_view(plan: ServerPlan) -> PackageView:
    """Return the view of the `__init__.py` files."""
    return PackageView(title=short_title(plan))


def short_title(plan: ServerPlan) -> DocText:
    """Return the title of a server, or its name if the title does not fit on a line."""
    return doc_text(cut_at_clause(one_line(plan.title), _MAX_TITLE) or plan.name)


def handler_module(plan: ServerPlan, group: ToolGroupPlan) -> HandlerModule:
    """Return the view of the handlers of one tag.

    Raises:
        ValueError: the plan has a name or a type that cannot be written; a bug in the planner.
    """
    contract_file = f"{group.module}.json"
    names = NamesUsed()
    handlers = tuple(_handler(tool, names) for tool in group.tools)
    return HandlerModule(
        title=doc_text(
            f"Handlers of the `{_tag(group)}` tools; what clients see of them is in"
            f" {contract_file}."
        ),
        contract_file=literal(contract_file),
        imports=names.spell_imports(plan, {"mcpgen.runtime": {"Context", "ToolGroup"}}),
        handlers=handlers,
    )


def _tag(group: ToolGroupPlan) -> str:
    return cut_at_clause(one_line(group.tag).replace("`", "'"), _MAX_TAG) or str(group.module)


class NamesUsed(Struct):
    """Names that a module imports, collected while its handlers are rendered."""

    typing: set[str] = field(default_factory=set)
    runtime: set[str] = field(default_factory=set)
    models: set[Identifier] = field(default_factory=set)

    def spell(self, annotation: Annotation) -> Source:
        """Return a type as source, and record its imports."""
        source, typing_names = annotation_source(annotation)
        self.typing |= typing_names
        self.models |= set(annotation.models)
        return source

    def spell_imports(self, plan: ServerPlan, others: Mapping[str, Set[str]]) -> ImportSections:
        """Return the imports of all names and of `others`, by module.

        Raises:
            ValueError: there is no such model.
        """
        if unknown := self.models - plan.models.keys():
            raise ValueError(f"no model is called {', '.join(sorted(unknown))}")
        modules: dict[str, Set[str]] = {
            **others,
            "typing": self.typing | others.get("typing", set()),
            "mcpgen.runtime": self.runtime | others.get("mcpgen.runtime", set()),
            f"{plan.package}._generated.models": {*self.models},
        }
        return spell_sections(modules, plan.package)


def _handler(tool: ToolPlan, names: NamesUsed) -> HandlerView:
    _refuse_shadowing(tool)
    returns = names.spell(tool.returns)
    function = identifier(tool.function)
    return HandlerView(
        tool_name=literal(tool.name),
        function=function,
        signature=parameters(tool.arguments, names),
        returns=returns,
        docstring=write_tool_docstring(tool),
        request=_request(tool, returns, names),
        statement=Source("await" if returns == "None" else "return await"),
    )


def _refuse_shadowing(tool: ToolPlan) -> None:
    """Raise when a name would hide another that the handler reads."""
    taken = _MODULE_NAMES | set(tool.returns.models)
    names = [tool.function, *(argument.identifier for argument in tool.arguments)]
    if hidden := sorted(taken.intersection(names)):
        raise ValueError(f"`{tool.name}` hides {', '.join(hidden)}")
    if len(set(names[1:])) != len(names) - 1:
        raise ValueError(f"`{tool.name}` has two arguments of one name")


def parameters(arguments: Iterable[Argument], names: NamesUsed) -> Source:
    """Return the parameters of a handler: the context and the keywords."""
    keywords = [_parameter(argument, names) for argument in arguments]
    return Source(", ".join(["ctx: Context", *(["*"] if keywords else []), *keywords]))


def _parameter(argument: Argument, names: NamesUsed) -> Source:
    annotation = names.spell(argument.annotation)
    name = identifier(argument.identifier)
    if argument.required or argument.default is not UNSET:
        return Source(f"{name}: {annotation}")
    names.runtime |= {"ABSENT", "Absent"}
    return Source(f"{name}: {annotation} | Absent = ABSENT")


def _request(tool: ToolPlan, returns: Source, names: NamesUsed) -> Source:
    operation = tool.operation
    arguments = [literal(operation.method), literal(operation.path)]
    for keyword, location in _REQUEST_MAPS:
        fixed = [
            item for item in tool.fixed if item.location == location and not item.is_default_header
        ]
        entries = [a for a in tool.arguments if a.location == location]
        if entries or fixed:
            arguments.append(Source(f"{keyword}={_wire_map(entries, fixed, names)}"))
    members = [item for item in tool.fixed if item.location == "body"]
    for keyword in ("querystring", "body", "content_type"):
        for argument in tool.arguments:
            if argument.location == keyword:
                value = identifier(argument.identifier)
                if keyword == "body" and members:
                    value = Source(f"{{**{value}, {_spell_fixed(members, names)}}}")
                arguments.append(Source(f"{keyword}={value}"))
    if operation.declared is not None and operation.declared.body is not UNSET:
        identifiers = {argument.name: argument.identifier for argument in tool.arguments}
        arguments.append(Source(f"body={_compose(operation.declared.body, identifiers)}"))
    return Source(", ".join([*arguments, f"returns={returns}"]))


def _compose(part: JsonValue, identifiers: Mapping[str, Identifier]) -> Source:
    """Return a body that contains arguments, as source."""
    if isinstance(part, InputRef):
        return identifier(identifiers[part.input])
    if isinstance(part, dict):
        members = (
            f"{literal(name)}: {_compose(member, identifiers)}" for name, member in part.items()
        )
        return Source(f"{{{', '.join(members)}}}")
    if isinstance(part, list):
        return Source(f"[{', '.join(_compose(item, identifiers) for item in part)}]")
    return literal(part)


def _wire_map(arguments: Iterable[Argument], fixed: Sequence[Fixed], names: NamesUsed) -> Source:
    entries = [f"{literal(a.wire_name)}: {identifier(a.identifier)}" for a in arguments]
    if fixed:
        entries.append(_spell_fixed(fixed, names))
    return Source(f"{{{', '.join(entries)}}}")


def _spell_fixed(fixed: Iterable[Fixed], names: NamesUsed) -> Source:
    entries = (f"{literal(item.wire_name)}: {_spell_fixed_value(item, names)}" for item in fixed)
    return Source(", ".join(entries))


def _spell_fixed_value(fixed: Fixed, names: NamesUsed) -> Source:
    """Return a value as source, or the expression that reads it from a setting."""
    setting = fixed.setting
    if setting is None:
        return literal(fixed.value)
    if setting.required:
        return Source(f"ctx.api.setting({literal(setting.name)})")
    if setting.default is not UNSET:
        default = literal(setting.default)
    else:
        names.runtime.add("ABSENT")
        default = Source("ABSENT")
    return Source(f"ctx.api.setting({literal(setting.name)}, {default})")


def write_tool_docstring(tool: ToolPlan) -> DocText:
    """Return a handler's docstring: what its tool does, and the operation's key in backticks."""
    return write_docstring(purpose(tool), tool.operation.key)


def write_docstring(sentence: str, operation: str) -> DocText:
    """Return a sentence and a key: on one line if they fit, else the key is on the next line.

    The sentence is shortened to whole clauses, or wrapped if its first clause is too long.
    """
    room = LINE_LENGTH - len('    """"""')
    key = doc_text(f"`{operation}`.")
    inline = doc_text(f"{sentence}: ")
    if len(inline) + len(key) <= room:
        return DocText(f"{inline}{key}")
    summary = end_sentence(cut_at_clause(sentence, room - len(".")) or sentence)
    lines = [summary]
    if len(summary) > room:
        lines = textwrap.wrap(summary, room, break_long_words=False, break_on_hyphens=False)
    text = "\n    ".join(map(doc_text, lines))
    return DocText(f"{text}\n\n    {key}\n    ")


def purpose(tool: ToolPlan) -> str:
    """Return what a tool does as one sentence, without the operation's key."""
    sentence = first_phrase(tool.description).removesuffix(f"(`{tool.operation.key}`)").rstrip()
    return sentence or one_line(tool.title) or tool.name


@functools.lru_cache(maxsize=4096)
def annotation_source(annotation: Annotation) -> tuple[Source, frozenset[str]]:
    """Return a type as source from its parsed form, and the names of `typing` in it.

    Raises:
        ValueError: it contains anything but names of types, `|`, subscripts and `Literal`
            constants.
    """
    expression = ast.parse(annotation.source, mode="eval").body
    found = frozenset(_names_of_type(expression, set(annotation.models)))
    return Source(ast.unparse(expression)), found & _TYPING_NAMES


def _names_of_type(node: ast.expr, models: set[Identifier]) -> Iterator[str]:
    match node:
        case ast.Name(id=name) if name in _BUILT_IN_TYPES | _TYPING_NAMES or name in models:
            yield name
        case ast.Constant(value=None):
            pass
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _names_of_type(left, models)
            yield from _names_of_type(right, models)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            _check_literal(values)
            yield "Literal"
        case ast.Subscript(value=ast.Name(id="list" | "dict") as outer, slice=inner):
            yield outer.id
            for item in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _names_of_type(item, models)
        case _:
            raise ValueError(f"not a type that handlers use: {ast.unparse(node)}")


def _check_literal(values: ast.expr) -> None:
    for value in values.elts if isinstance(values, ast.Tuple) else [values]:
        if not _is_literal_value(value):
            raise ValueError(f"not a value of Literal: {ast.unparse(value)}")


def _is_literal_value(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is None or isinstance(value, str | bool | int)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return isinstance(value, int)
        case _:
            return False


class CallView(Struct, frozen=True):
    """The type of one operation's handler: its parameters and its result."""

    name: Source
    docstring: DocText
    signature: Source
    returns: Source


class CallsModule(Struct, frozen=True):
    """`_generated/calls.py`."""

    title: DocText
    imports: ImportSections
    calls: tuple[CallView, ...]


def calls_module(plan: ServerPlan) -> CallsModule | None:
    """Return the view of the types that the user's code names; None if it names none."""
    names = NamesUsed()
    planned: list[ToolPlan | WorkflowPlan] = [*plan.tools, *plan.workflows]
    named = sorted(
        (tool for tool in planned if tool.call_type in plan.named_call_types),
        key=lambda tool: tool.call_type,
    )
    calls = tuple(_call(tool, names) for tool in named)
    if not calls:
        return None
    results = {tool.returns.name for tool in named if isinstance(tool.returns, WorkflowResult)}
    return CallsModule(
        title=short_title(plan),
        imports=names.spell_imports(
            plan,
            {
                "typing": {"Protocol"},
                "mcpgen.runtime": {"Context"},
                f"{plan.package}._generated.workflows": results,
            },
        ),
        calls=calls,
    )


def _call(tool: ToolPlan | WorkflowPlan, names: NamesUsed) -> CallView:
    if isinstance(tool, WorkflowPlan):
        key, returns = tool.key, workflow_returns(tool, names)
    else:
        key, returns = tool.operation.key, names.spell(tool.returns)
    return CallView(
        name=identifier(tool.call_type),
        docstring=doc_text(f"`{key}`."),
        signature=Source(f"self, {parameters(tool.arguments, names)}"),
        returns=returns,
    )

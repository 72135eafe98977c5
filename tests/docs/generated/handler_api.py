"""The names that handlers import from `mcpgen.runtime`, from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Final

import mcpgen.runtime
from mcpgen.runtime.upstream.client import ToolApi

# What handlers use, by subject. The rest is imported by generated code only.
_SUBJECTS: Final = {
    "Overrides": ("override", "before", "after", "CallNext", "ABSENT", "Absent"),
    "The call": ("Context",),
    "Tools, resources and prompts": ("Features",),
    "Results": (
        "ToolResult",
        "Text",
        "Image",
        "Audio",
        "EmbeddedResource",
        "ResourceLink",
        "Annotations",
        "Content",
        "Media",
        "ResourceContents",
        "ResourceResult",
        "PromptMessage",
        "PromptResult",
        "Completion",
    ),
    "Questions to the client": (
        "ask_form",
        "ask_url",
        "ask_model",
        "ask_roots",
        "Elicited",
        "ModelMessage",
        "ToolUse",
        "ToolUseResult",
        "sampled_content",
    ),
    "Errors": (
        "ToolError",
        "UpstreamError",
        "UpstreamStatusError",
        "ClientCannotError",
        "ResourceNotFoundError",
        "ProtocolError",
        "ConfigurationError",
    ),
}
_GENERATED: Final = (
    "End",
    "GoTo",
    "Retry",
    "ToolGroup",
    "Workflow",
    "compare",
    "serve",
    "value_at",
    "without_absent",
)
# Members of classes that only the runtime itself uses.
_INTERNAL: Final = {
    "Context": {"call_by_name", "owner", "questions", "run_tool", "to_json"},
    "Features": {
        "call_tool",
        "check_completions",
        "complete",
        "extend",
        "gathered",
        "get_prompt",
        "has_completion",
        "has_tool",
        "read_resource",
    },
    "ToolApi": set[str](),
}
_QUOTED: Final = re.compile(r"(: |-> )'([^']*)'")
_OBJECT: Final = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>")
_QUALIFIED: Final = re.compile(r"\bmcpgen\.(?:\w+\.)+")
_RAISES: Final = re.compile(r"\n*Raises:\n((?: {4}.+\n?)+)")


def handler_api() -> str:
    """Return a section for each subject, and one for each name and each public method."""
    described = {name for names in _SUBJECTS.values() for name in names}
    unsorted = set(mcpgen.runtime.__all__) - described - set(_GENERATED)
    assert not unsorted, f"add these names to a subject: {sorted(unsorted)}"
    parts = []
    for subject, names in _SUBJECTS.items():
        parts.append(f"## {subject}")
        for name in names:
            parts += _entry(name, getattr(mcpgen.runtime, name))
    names = ", ".join(f"`{name}`" for name in _GENERATED)
    parts.append(f"## Names for generated code\n\nGenerated modules also import {names}.")
    return "\n\n".join(parts)


def _entry(name: str, value: Any) -> list[str]:
    heading = f"### `{name}`"
    if inspect.isfunction(value):
        return [heading, _code(_signature(name, value)), _text(value)]
    if not inspect.isclass(value):
        about = _text(type(value)) if type(value).__module__.startswith("mcpgen") else ""
        return [heading, about or _code(f"{name} = {_QUALIFIED.sub('', repr(value))}")]
    if name not in _INTERNAL:
        is_made = name not in {"Absent", "CallNext"}
        code = _code(_signature(name, value)) if is_made else ""
        return [part for part in (heading, code, _text(value)) if part]
    parts = [heading, _text(value), *_members(name, value)]
    if name == "Context":
        parts += ["### `Context.api`", _text(ToolApi), *_members("ToolApi", ToolApi, "api")]
    return parts


def _members(name: str, value: type, shown_as: str = "") -> Iterator[str]:
    """Return the public attributes of a class, then its properties and methods."""
    prefix = shown_as or name
    for attribute, annotation, about in _attributes(value):
        if attribute not in _INTERNAL[name]:
            yield from (f"#### `{prefix}.{attribute}`", _code(f"{attribute}: {annotation}"), about)
    for member, inner in vars(value).items():
        function = inner.fget if isinstance(inner, property) else inner
        if member.startswith("_") or member in _INTERNAL[name] or not inspect.isfunction(function):
            continue
        if isinstance(inner, property):
            shown = f"{member}: {function.__annotations__['return']}"
        else:
            shown = _signature(member, function)
        yield from (f"#### `{prefix}.{member}`", _code(shown), _text(function))


def _attributes(value: type) -> Iterator[tuple[str, str, str]]:
    """Return the attributes of a class that a string below them describes."""
    [node] = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(node, ast.ClassDef)
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            about = ast.literal_eval(following.value)
            yield (
                ast.unparse(statement.target),
                ast.unparse(statement.annotation),
                inspect.cleandoc(about),
            )


def _code(text: str) -> str:
    return f"```text\n{text}\n```"  # ruff formats blocks of Python, and these are none


def _signature(name: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except ValueError:
        return name
    # The signature of a struct has types in place of the names that its source has.
    written = inspect.get_annotations(value) if inspect.isclass(value) else {}
    parameters = [
        it.replace(annotation=written.get(key, it.annotation))
        for key, it in signature.parameters.items()
        if key != "self"
    ]
    shown = _unquoted(signature.replace(parameters=parameters))
    prefix = "await " if inspect.iscoroutinefunction(value) else ""
    returned = "" if inspect.isclass(value) else shown.rpartition(" -> ")[2]
    shown = shown.rpartition(" -> ")[0] if " -> " in shown else shown
    line = f"{prefix}{name}{shown}{f' -> {returned}' if returned and '(' not in returned else ''}"
    if len(line) <= 96:
        return line
    inner = "".join(f"    {each},\n" for each in _arguments(parameters))
    return f"{prefix}{name}(\n{inner}){f' -> {returned}' if returned else ''}"


def _unquoted(signature: object) -> str:
    """Return a signature without the quotes around its annotations."""
    text = _OBJECT.sub("...", str(signature))
    return _QUOTED.sub(r"\1\2", text).replace("''", '""').replace("'", '"')


def _arguments(parameters: list[inspect.Parameter]) -> list[str]:
    shown, has_star = [], False
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            shown.append("*")
            has_star = True
        has_star |= each.kind is inspect.Parameter.VAR_POSITIONAL
        shown.append(_unquoted(each))
    return shown


def _text(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    raises = _RAISES.search(text)
    if raises is None:
        return text
    lines = re.sub(r"\n {5,}", " ", raises[1]).splitlines()
    items = [
        f"- `{name.strip()}`: {reason}" for name, _, reason in (it.partition(": ") for it in lines)
    ]
    return f"{text[: raises.start()]}\n\nRaises:\n\n" + "\n".join(items) + text[raises.end() :]

"""Reference of diagnostics by rule: texts from the source, examples from the tests.

A diagnostic is reported by a call with a rule, and then a message: `problems.error("no-tools",
f"...", help="...")`. What is computed when the program runs appears as "…".
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.diagnostic_examples import Example, problem_of, read_examples
from tests.docs.generated.pages import REPOSITORY

_RULE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SOMETHING: Final = "…"
_EXAMPLE: Final = re.compile(r"^(?:error|warning|note)\[([\w-]+)\]", re.MULTILINE)
_FENCE: Final = re.compile(r'^```\w+(?: title="([^"]+)")?$', re.MULTILINE)
_PLACE: Final = re.compile(r"^  --> ([^:\n]+)", re.MULTILINE)
_LONGEST_INPUT: Final = 40
_NO_REPORTS: Final = {
    "get",
    "log",
    "format_line",
    "_grade",
    "flag",
    "Feature",
    "Fault",
    "Table",
    "add_finding",
    "SkippedOperation",
    "_cell",
}
_SEVERITIES: Final = {"error": "error", "warning": "warning", "warn": "warning", "note": "note"}
_SKIPS: Final = "skips the operation"
# Titles of the sections, by the packages that report.
_AREAS: Final = {
    "Reading documents": ("openapi/source", "openapi/resolve"),
    "Content of documents": ("openapi", "ir", "plan/arguments", "plan/schemas", "jsonschema"),
    "The manifest, overlays and workflows": ("manifest", "plan/workflows"),
    "Tools": ("plan",),
    "Projects": ("pipeline", "emit", "render", "changelog", "contract"),
    "Workspaces": ("factory/workspace",),
    "Clients": ("factory/clients",),
    "Bundles": ("factory/bundle",),
    "Tests and servers": ("factory", "cli"),
}


@dataclass(frozen=True, slots=True)
class Text:
    """The texts that one call can report."""

    severity: str
    message: str
    why: str
    help: str


def diagnostics_reference() -> str:
    """Return a section for each rule, grouped by what the rules are about."""
    rules, areas = _texts_by_rule()
    examples = read_examples()
    unknown = {*areas.values()} - _AREAS.keys()
    if unknown:  # their rules would be missing
        raise ValueError(f"no area is called {', '.join(sorted(unknown))}")
    parts = []
    for area in _AREAS:
        names = sorted(name for name in rules if areas[name] == area)
        links = ", ".join(f"[{name}](#{name})" for name in names)
        parts += [f"## {area}", links]
        parts += [_section(name, rules[name], examples.get(name)) for name in names]
    return "\n\n".join(parts)


def documented_rules() -> set[str]:
    """Return every rule that the source can report."""
    return set(_texts_by_rule()[0])


def rules_of_cases() -> set[str]:
    """Return every rule that a case of tests/cases reports."""
    return set(_examples())


def _section(rule: str, texts: list[Text], example: Example | None) -> str:
    severities = sorted({text.severity for text in texts})
    shown = _shown(example) if example else ""
    parts = [f"### `{rule}`", f"*{', '.join(severities)}*", shown]
    lines = []
    for text in dict.fromkeys(it for it in texts if it.message):
        if not example or not _is_in(text.message, shown):
            lines.append(f"- {_inline(text.message)}")
            lines += [f"  - help: {_inline(text.help)}"] if text.help else []
    if lines:
        intro = "Other messages:" if "```" in shown else "Messages:"
        parts += [intro, "\n".join(lines)]
    return "\n\n".join(filter(None, parts))


def _shown(example: Example) -> str:
    """Return a section of tests/docs/diagnostics as it appears on the page.

    All blocks are plain text: the page is not run, and most of them are invalid on purpose.
    """
    parts = [example.shown]
    if example.case:
        parts += _blocks_of_case(example)
    return _FENCE.sub(_plain_fence, "\n\n".join(parts))


def _plain_fence(found: re.Match[str]) -> str:
    title = found[1] or ""
    return f"`{title}`:\n\n```text" if title else "```text"


def _blocks_of_case(example: Example) -> Iterator[str]:
    folder = REPOSITORY / "tests" / "cases" / example.case
    command, _, rest = (folder / "stderr.txt").read_text("utf-8").partition("\n")
    problem = problem_of(example.rule, rest.rpartition("exit code")[0])
    place = _PLACE.search(problem)
    paths = [base / place[1] for base in (folder, folder / "server")] if place else []
    for path in paths:
        if path.is_file() and path.read_text("utf-8").count("\n") < _LONGEST_INPUT:
            text = path.read_text("utf-8").rstrip("\n")
            yield f'```text title="{path.relative_to(folder)}"\n{text}\n```'
            break
    yield f"```console\n{command}\n{problem}\n```"


def _is_in(message: str, shown: str) -> bool:
    """Return whether an example prints a message, whose computed parts are "…"."""
    pattern = ".*".join(map(re.escape, message.split(_SOMETHING)))
    return re.search(rf"\]: (?:.* is skipped: )?{pattern}$", shown, re.MULTILINE) is not None


def _inline(text: str) -> str:
    """Escape what Markdown would read as markup outside of code spans."""
    spans = " ".join(text.split()).split("`")
    return "`".join(
        span if index % 2 else re.sub(r"([\\*_<>|\[\]])", r"\\\1", span)
        for index, span in enumerate(spans)
    )


def _examples() -> dict[str, str]:
    """Return the first problem of each rule among the cases."""
    found: dict[str, str] = {}
    for path in sorted((REPOSITORY / "tests" / "cases").glob("*/stderr.txt")):
        printed = path.read_text("utf-8")
        for rule in _EXAMPLE.findall(printed):
            found.setdefault(rule, problem_of(rule, printed))
    return found


def _texts_by_rule() -> tuple[dict[str, list[Text]], dict[str, str]]:
    rules: defaultdict[str, list[Text]] = defaultdict(list)
    areas: dict[str, str] = {}
    for area, folders in _AREAS.items():
        for path in _modules(folders):
            for rule, text in _reports(ast.parse(path.read_text("utf-8"))):
                if areas.setdefault(rule, area) == area or text not in rules[rule]:
                    rules[rule].append(text)
    examples = read_examples()
    for rule, printed in _printed(examples).items():  # some are reported through variables
        if rule not in rules:
            rules[rule] = [Text(printed.partition("[")[0], "", "", "")]
    areas |= {rule: example.area for rule, example in examples.items()}
    return rules, areas


def _printed(examples: Mapping[str, Example]) -> dict[str, str]:
    """Return a printed problem of each rule that has an example or a case."""
    shown = {rule: _shown(example) for rule, example in examples.items()}
    return _examples() | {
        rule: it for rule, text in shown.items() if (it := problem_of(rule, text))
    }


def _modules(folders: tuple[str, ...]) -> Iterator[Path]:
    """Return the modules in these folders, except those of earlier areas."""
    earlier = []
    for area in _AREAS.values():
        if area == folders:
            break
        earlier += [REPOSITORY / "mcpgen" / folder for folder in area]
    for folder in folders:
        for path in sorted((REPOSITORY / "mcpgen" / folder).rglob("*.py")):
            if not any(path.is_relative_to(other) for other in earlier):
                yield path


def _reports(tree: ast.Module) -> Iterator[tuple[str, Text]]:
    for node, constants in _calls(tree, dict(_constants(tree.body))):
        callee = ast.unparse(node.func).rpartition(".")[2]
        if callee in _NO_REPORTS or callee.startswith("_told"):
            continue
        for at, (first, second) in enumerate(zip(node.args[:2], node.args[1:3], strict=False)):
            callees = constants.get(callee, callee).split()
            is_report = callees[0] in _SEVERITIES and not isinstance(second, ast.Constant)
            found = [
                (rule, message)
                for rule, message in _choices(first, second, constants)
                if _RULE.fullmatch(rule) and (" " in message or is_report)
            ]
            for rule, message in found:
                for each in callees:
                    yield rule, _report(node, each, message, node.args[at + 2 :], constants)
            if found:
                break


def _calls(
    node: ast.AST, constants: Mapping[str, str]
) -> Iterator[tuple[ast.Call, Mapping[str, str]]]:
    """Yield the calls below a node, each with the names for texts where it is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        assignments = [it for it in ast.walk(node) if isinstance(it, ast.Assign)]
        constants = {**constants, **dict(_constants(assignments))}
    if isinstance(node, ast.Call):
        yield node, constants
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, constants)


def _choices(
    code: ast.expr, message: ast.expr, constants: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Return each combination of rule and message that the two arguments can have."""
    if not isinstance(code, ast.IfExp):
        yield _text(code, constants), _text(message, constants)
        return
    messages = (message.body, message.orelse) if isinstance(message, ast.IfExp) else (message,) * 2
    for branch, text in zip((code.body, code.orelse), messages, strict=True):
        yield _text(branch, constants), _text(text, constants)


def _report(
    call: ast.Call,
    callee: str,
    message: str,
    others: list[ast.expr],
    constants: Mapping[str, str],
) -> Text:
    named = {word.arg: _text(word.value, constants) for word in call.keywords if word.arg}
    texts = [it for it in (_text(each, constants) for each in others) if it and " " in it]
    remedy = named.get("help") or (texts[-1] if texts else "")
    severity = _SEVERITIES.get(callee, "error")
    if callee.endswith("RefusedError") or callee == "BrokenReferenceError":
        severity = _SKIPS
    return Text(severity, message, named.get("why") or "", remedy)


def _constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the names of texts, and of methods that report with one of two severities."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and any(it.name.isupper() for it in node.names):
            path = REPOSITORY / f"{(node.module or '').replace('.', '/')}.py"
            tree = ast.parse(path.read_text("utf-8") if path.is_file() else "")
            texts = dict(_constants(tree.body))
            yield from ((it.name, texts[it.name]) for it in node.names if it.name in texts)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = _text(node.value, {}) or _severities(node.value)
            if isinstance(target, ast.Name) and text:
                yield target.id, text


def _severities(node: ast.expr) -> str:
    match node:
        case ast.IfExp(body=ast.Attribute(attr=first), orelse=ast.Attribute(attr=second)):
            return f"{first} {second}" if {first, second} <= _SEVERITIES.keys() else ""
    return ""


def _text(node: ast.expr, constants: Mapping[str, str]) -> str:
    """Return the text of an expression, with "…" for its computed parts; "" if it is no text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            pieces = [
                str(it.value)
                if isinstance(it, ast.Constant)
                else (isinstance(it, ast.FormattedValue) and _text(it.value, constants))
                or _SOMETHING
                for it in parts
            ]
            return "".join(pieces)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = _text(left, constants), _text(right, constants)
            return "".join(text or _SOMETHING for text in texts) if any(texts) else ""
        case ast.IfExp(body=body, orelse=otherwise):
            return _text(body, constants) or _text(otherwise, constants)
        case ast.Call(func=ast.Name(id="did_you_mean"), args=[_, _, *rest]):
            otherwise = _text(rest[0], constants) if rest else ""
            return f"did you mean `{_SOMETHING}`?{f' Or: {otherwise}' if otherwise else ''}"
        case ast.Name(id=name):
            return constants.get(name, "")
    return ""

"""Checks of generated files before they are written: syntax, paths, and only expected code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from mcpgen.contract.frontmatter import check_skill, read_frontmatter
from mcpgen.contract.skills import SKILL_FILE
from mcpgen.ir.file_set import FileSet, PlannedFile
from mcpgen.ir.skill_plan import MAX_FILE_TOKENS
from mcpgen.text.identifiers import Identifier

_STATEMENTS = (
    ast.AnnAssign,
    ast.Assign,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Expr,
    ast.ImportFrom,
    ast.Pass,
    ast.Return,
)
_NEVER = (ast.Lambda, ast.JoinedStr, ast.comprehension, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_LOOKED_AT = (ast.stmt, ast.Call, *_NEVER)
_LEAVES = frozenset({ast.Constant, ast.Load, ast.Name, ast.Store})  # half of all nodes
_CALLABLES = frozenset(
    {"ToolGroup.load", "TypedDict", "ctx.api.request", "ctx.api.setting", "tools.handler"}
)
_WORKFLOWS = "/_generated/workflows.py"
_CALLABLES_OF_WORKFLOWS = frozenset(
    {
        "End", "GoTo", "Retry", "Workflow", "bool", "compare", "flow.call", "flow.call_each",
        "flow.items", "value_at", "without_absent",
    }
)  # fmt: skip
_skip_json = msgspec.json.Decoder(msgspec.Raw).decode  # it reads all and builds nothing
_MODULES = frozenset({"__future__", "mcpgen.runtime", "typing"})
_CLASS = re.compile(r"^(?=class )", re.MULTILINE)
_PART = 50_000  # characters; a syntax tree takes about 60 times the memory of its source


class ProofFailedError(Exception):
    """A new file is invalid: a bug in mcpgen. Nothing was written."""


def prove_paths(files: FileSet) -> None:
    """Check the paths of all files of a project.

    Raises:
        ProofFailedError: a path is outside the project, or two are the same.
    """
    seen: set[str] = set()
    for file in files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or "\\" in file.path or file.path in seen:
            raise ProofFailedError(f"{file.path!r} is no path of its own inside the project")
        seen.add(file.path)


def prove_contents(files: Iterable[PlannedFile], package: Identifier) -> None:
    """Check the contents of some files of a project.

    Raises:
        ProofFailedError: one does not parse, or contains code that no template emits.
    """
    for file in files:
        try:
            _prove(file, package)
        except (ValueError, SyntaxError, RecursionError) as error:
            raise ProofFailedError(f"{file.path}: {error}") from error


def _prove(file: PlannedFile, package: Identifier) -> None:
    match PurePosixPath(file.path).suffix:
        case ".py":
            is_ours = f"src/{package}/_generated/" in file.path
            for tree in _parse(file.content.decode()):
                if is_ours:
                    _prove_code(tree, package, is_workflows=file.path.endswith(_WORKFLOWS))
        case ".json" if not file.path.startswith("openapi"):
            _skip_json(file.content.decode())
        case ".jsonl":
            for line in file.content.splitlines():
                _skip_json(line.decode())
        case ".md" if "/_generated/skills/" in file.path:
            _prove_skill_file(PurePosixPath(file.path), file.content)
        case ".toml":
            tomllib.loads(file.content.decode())


def _parse(source: str) -> Iterator[ast.Module]:
    """Yield the syntax tree of a module; of a long one, those of parts that begin with a class.

    Parts that are valid modules are one when they are joined.
    """
    parts = [""]
    for statements in _CLASS.split(source):
        if parts[-1] and len(parts[-1]) + len(statements) > _PART:
            parts.append("")
        parts[-1] += statements
    lines_before = 0
    try:
        for part in parts:
            yield ast.parse("\n" * lines_before + part)
            lines_before += part.count("\n")
    except SyntaxError:  # a line of a text looks like the beginning of a class
        yield ast.parse(source)


def _prove_skill_file(path: PurePosixPath, content: bytes) -> None:
    """Reject a skill that hosts would not load: invalid front matter, or too long a text."""
    if len(content) > MAX_FILE_TOKENS * 4:
        raise ValueError(f"it has {len(content):,} bytes, more than {MAX_FILE_TOKENS:,} tokens")
    if path.name == SKILL_FILE:
        check_skill(read_frontmatter(content.decode()), path.parent.name)


def _prove_code(tree: ast.Module, package: Identifier, *, is_workflows: bool) -> None:
    """Reject code that no template emits."""
    for node in _walk(tree):
        is_emitted = not isinstance(node, _LOOKED_AT) or not _is_foreign(node, package)
        if not is_emitted and not (is_workflows and _joins_steps(node)):
            line = getattr(node, "lineno", 0)
            raise ValueError(f"line {line}: no template emits {ast.unparse(node):.60}")


def _walk(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a tree as `ast.walk` does, except leaves that any code may have."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        yield node
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                nodes += [it for it in child if isinstance(it, ast.AST) and type(it) not in _LEAVES]
            elif isinstance(child, ast.AST) and type(child) not in _LEAVES:
                nodes.append(child)


def _is_foreign(node: ast.AST, package: Identifier) -> bool:
    match node:
        case ast.ImportFrom(module=module):
            return not _is_known(module or "", package)
        case ast.Call(func=function):
            return _qualify(function) not in _CALLABLES
        case ast.Expr(value=value):
            return not _is_docstring_or_request(value)
        case ast.stmt():
            return not isinstance(node, _STATEMENTS)
        case _:
            return True


def _qualify(name: ast.expr) -> str:
    """Return a dotted name, `a.b.c`; "" for any other expression."""
    if isinstance(name, ast.Attribute):
        before = _qualify(name.value)
        return f"{before}.{name.attr}" if before else ""
    return name.id if isinstance(name, ast.Name) else ""


def _joins_steps(node: ast.AST) -> bool:
    """Return whether only workflows contain this: calls, lists of arguments and conditions."""
    match node:
        case ast.comprehension():
            return True
        case ast.Lambda(args=ast.arguments(args=[_])):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="get" | "header")):
            return True  # of a step
        case ast.Call(func=function):
            return _qualify(function) in _CALLABLES_OF_WORKFLOWS
        case _:
            return False


def _is_known(module: str, package: Identifier) -> bool:
    generated = f"{package}._generated"
    return module in {f"{generated}.models", f"{generated}.workflows"} or module in _MODULES


def _is_docstring_or_request(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=constant):
            return isinstance(constant, str) or constant is ...
        case _:
            return isinstance(value, ast.Await)

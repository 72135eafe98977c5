"""Static analysis of `handlers/`: its overrides, hooks and tools; no module is imported."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from textwrap import dedent

from mcpgen.contract.extras import ASKING_METHODS
from mcpgen.diagnostics import Location, Problems
from mcpgen.ir.hand_written import ExtraTool, HandlerSource, HandWritten, Hook
from mcpgen.text.prose import text_lines

_HOOKS = frozenset({"override", "before", "after"})
_WORDS = (*(word.encode() for word in sorted(_HOOKS)), b"Features")
_ASKING_WORDS = tuple(f".{method}(".encode() for method in ASKING_METHODS)
_RUNTIME = "mcpgen.runtime"
_PYTHON = ".".join(
    map(str, sys.version_info[:2])
)  # the one that reads it, and maybe not the server's


def read_handlers(files: Mapping[str, bytes], problems: Problems) -> HandWritten:
    """Analyze the modules of `handlers/`; `files` has their contents by path in the project.

    Only literals and module constants are understood; a computed operation is ignored.
    """
    hooks: list[Hook] = []
    tools: list[ExtraTool] = []
    unreadable: list[str] = []
    asking: list[Location] = []
    for path, content in sorted(files.items()):
        is_served = any(word in content for word in _WORDS)
        if not is_served and not any(word in content for word in _ASKING_WORDS):
            continue
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            if is_served:
                report_unreadable_module(path, error, problems)
                unreadable.append(short_path(path))
            continue
        module = _Module(path, text_lines(content.decode("utf-8", "replace")), tree)
        hooks += module.hooks()
        tools += module.tools()
        asking += module.find_asking_calls()
    return HandWritten(tuple(hooks), tuple(tools), tuple(unreadable), tuple(asking))


def short_path(path: str) -> str:
    """Return the last two parts of a path: "handlers/pets.py"."""
    return "/".join(path.split("/")[-2:])


def report_unreadable_module(path: str, error: Exception, problems: Problems) -> None:
    """Report a module that `ast` cannot parse."""
    line, column = getattr(error, "lineno", None) or 0, getattr(error, "offset", None) or 1
    problems.error(
        "handler-unreadable",
        f"invalid Python {_PYTHON} in {path}: {getattr(error, 'msg', error)}",
        at=Location(path, line, column),
        why="the server imports it and does not start",
        help="fix the syntax; mcpgen does not overwrite files in `handlers/`",
    )


class _Module:
    """One module, with the names that it imports from the runtime."""

    def __init__(self, path: str, lines: list[str], tree: ast.Module) -> None:
        self._path = path
        self._lines = lines
        self._tree = tree
        self._meanings = dict(_list_imported_names(tree))
        self._constants = dict(_constants(tree))
        self._features = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(node.value, ast.Call)
            and self._qualify(node.value.func) == f"{_RUNTIME}.Features"
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }

    def hooks(self) -> Iterator[Hook]:
        for function, decorator in self._find_decorated():
            kind = self._qualify(decorator.func).removeprefix(f"{_RUNTIME}.")
            if kind not in _HOOKS:
                continue
            for argument in decorator.args:
                operation = self._read_text(argument)
                if operation is not None:
                    place = f"{short_path(self._path)}:{function.name}"
                    yield Hook(kind, operation, place, self._locate(argument))

    def tools(self) -> Iterator[ExtraTool]:
        for function, decorator in self._find_decorated():
            match decorator.func:
                case ast.Attribute(value=ast.Name(id=owner), attr="tool") if (
                    owner in self._features
                ):
                    name_nodes = [*decorator.args[:1]]
                    name_nodes += [word.value for word in decorator.keywords if word.arg == "name"]
                    name = self._read_text(name_nodes[0]) if name_nodes else function.name
                    if name is not None:
                        yield ExtraTool(name or function.name, self._locate(decorator))

    def find_asking_calls(self) -> Iterator[Location]:
        """Find the calls with which a function asks the client for input."""
        for function in ast.walk(self._tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            contexts = {
                parameter.arg
                for parameter in (*function.args.posonlyargs, *function.args.args)
                if parameter.arg == "ctx"
                or (parameter.annotation and self._is_context(parameter.annotation))
            }
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)) if (
                        owner in contexts and method in ASKING_METHODS
                    ):
                        yield self._locate(node.func)

    def _is_context(self, annotation: ast.expr) -> bool:
        if isinstance(annotation, ast.Constant):  # a name in quotes
            return str(annotation.value).rpartition(".")[2] == "Context"
        return self._qualify(annotation) in (f"{_RUNTIME}.Context", f"{_RUNTIME}.context.Context")

    def _find_decorated(self) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.Call]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call):
                        yield node, decorator

    def _qualify(self, node: ast.expr) -> str:
        """Return the qualified name of an expression, "mcpgen.runtime.override", or ""."""
        match node:
            case ast.Name(id=name):
                return self._meanings.get(name, "")
            case ast.Attribute(value=value, attr=name):
                owner = self._qualify(value)
                return f"{owner}.{name}" if owner else ""
            case _:
                return ""

    def _read_text(self, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._constants.get(name)
            case _:
                return None

    def _locate(self, node: ast.expr) -> Location:
        line = self._lines[node.lineno - 1].rstrip("\r\n")
        # `ast` counts the column in bytes of UTF-8.
        column = len(line.encode()[: node.col_offset].decode("utf-8", "replace"))
        end = node.end_col_offset if node.end_lineno == node.lineno else None
        width = len(line.encode()[node.col_offset : end].decode("utf-8", "replace"))
        return Location(self._path, node.lineno, column + 1, excerpt=line, width=max(1, width))


def _list_imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                bound = name.asname or name.name.partition(".")[0]
                yield bound, name.name if name.asname else bound


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def read_handler(source: str, tool: str) -> HandlerSource | None:
    """Find the handler of a tool in a module; return None if there is none.

    Raises:
        SyntaxError: the module was edited and is invalid.
    """
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and _is_for(node, tool):
            return _extract(node, source, tree)
    return None


def list_classes(source: str) -> list[str]:
    """Return the names of the classes that a module defines.

    Raises:
        SyntaxError: the module was edited and is invalid.
    """
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def find_edited_handlers(edited: bytes, pristine: bytes) -> list[str]:
    """Return the tools whose handlers were edited; () if a module cannot be parsed."""
    try:
        mine, theirs = _find_handlers(edited), _find_handlers(pristine)
    except (SyntaxError, ValueError):
        return []
    return [tool for tool, text in mine.items() if theirs.get(tool, text) != text]


def _find_handlers(source: bytes) -> dict[str, str]:
    return {
        argument.value: ast.dump(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def _is_for(node: ast.AsyncFunctionDef, tool: str) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func) == "tools.handler"
        and [ast.unparse(argument) for argument in decorator.args] == [repr(tool)]
        for decorator in node.decorator_list
    )


def _extract(node: ast.AsyncFunctionDef, source: str, tree: ast.Module) -> HandlerSource:
    lines = text_lines(source)
    first, *rest = node.body
    has_docstring = ast.get_docstring(node) is not None
    statements = rest if has_docstring else node.body
    body = (
        "".join(lines[statements[0].lineno - 1 : node.end_lineno]) if statements else "    pass\n"
    )
    arguments = ast.arguments([], [], None, node.args.kwonlyargs, node.args.kw_defaults, None, [])
    used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return HandlerSource(
        function=node.name,
        parameters=ast.unparse(arguments),
        keywords=tuple(argument.arg for argument in node.args.kwonlyargs),
        returns=ast.unparse(node.returns) if node.returns is not None else "object",
        docstring=ast.get_source_segment(source, first) or "" if has_docstring else "",
        body=dedent(body),
        imports={
            name.name: getattr(statement, "module", None) or ""
            for statement in tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for name in statement.names
            if name.name in used and name.asname is None
        },
    )


def restore_handler(edited: str, pristine: str, tool: str) -> str:
    """Restore the generated handler of one tool in an edited module; keep other edits.

    If no other edits remain, the imports are restored as well.
    """
    mine, theirs = _find_lines(edited, tool), _find_lines(pristine, tool)
    before, after = text_lines(edited), text_lines(pristine)
    text = "".join(before[: mine[0]] + after[theirs[0] : theirs[1]] + before[mine[1] :])
    return pristine if _without_imports(text) == _without_imports(pristine) else text


def _find_lines(source: str, tool: str) -> tuple[int, int]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.AsyncFunctionDef) and _is_for(node, tool):
            first = min(decorator.lineno for decorator in node.decorator_list)
            return first - 1, node.end_lineno or first
    raise ValueError(f"no handler of `{tool}`")


def _without_imports(source: str) -> list[str]:
    body = ast.parse(source).body
    return [ast.dump(node) for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]

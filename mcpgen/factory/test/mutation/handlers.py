"""Mutants of generated handlers: faults in calls such as `ctx.api.request("GET", "/pets", ...)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise

from msgspec import Struct

from mcpgen.factory.test.mutation.mutants import Mutant, PackageFiles, TextChange

OTHER_VERB = {
    "DELETE": "GET",
    "GET": "POST",
    "HEAD": "GET",
    "OPTIONS": "GET",
    "PATCH": "PUT",
    "POST": "PUT",
    "PUT": "PATCH",
    "QUERY": "POST",
    "TRACE": "GET",
}
_MAPS = ("path_params", "query", "headers", "cookies")
_ELSEWHERE = {"path_params": "query", "query": "headers", "headers": "query", "cookies": "query"}


class _Handler(Struct, frozen=True):
    """A handler: its file, its node, and its API request."""

    file: str
    source: str
    offsets: tuple[int, ...]  # start of each line, in characters
    tool: str
    function: ast.AsyncFunctionDef
    call: ast.Call

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and end of a node in the file, in characters."""
        return self._offset(node.lineno, node.col_offset), self._offset(
            node.end_lineno or node.lineno, node.end_col_offset or 0
        )

    def _offset(self, line: int, column: int) -> int:
        begin = self.offsets[line - 1]
        text = self.source[begin:].partition("\n")[0]
        return begin + len(text.encode()[:column].decode())  # `ast` counts bytes

    def text(self, node: ast.expr) -> str:
        """Return the source text of a node."""
        start, end = self.span(node)
        return self.source[start:end]

    def keyword(self, name: str) -> ast.expr | None:
        """Return the value of one of the call's keywords; None if it is not passed."""
        return next((each.value for each in self.call.keywords if each.arg == name), None)

    def mutant(
        self, operator: str, node: ast.expr | ast.stmt, what: str, *edits: tuple[int, int, str]
    ) -> Mutant:
        """Create a mutant of edits, which must not overlap; its place is that of `node`."""
        changes = tuple(
            TextChange(self.file, start, end, text)
            for start, end, text in sorted(edits, reverse=True)
        )
        return Mutant(operator, self.tool, f"{self.file}:{node.lineno}", what, changes)


def make_handler_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Yield the mutants of all handlers, by file and line."""
    for file, content in package.originals.items():
        if file.endswith(".py"):
            for handler in _find_handlers(file, content.decode()):
                made = (mutant for make in _MAKERS for mutant in make(handler))
                yield from sorted(made, key=lambda mutant: OPERATORS.index(mutant.operator))


def _find_handlers(file: str, source: str) -> Iterator[_Handler]:
    lines = source.splitlines(keepends=True)
    offsets = tuple(sum(map(len, lines[:number])) for number in range(len(lines) + 1))
    for function in ast.parse(source).body:
        if isinstance(function, ast.AsyncFunctionDef) and (tool := _find_tool(function)):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "ctx.api.request":
                    yield _Handler(file, source, offsets, tool, function, node)


def _find_tool(function: ast.AsyncFunctionDef) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "tools.handler":
            return str(ast.literal_eval(decorator.args[0]))
    return ""


# Operators


def _change_verb(handler: _Handler) -> Iterator[Mutant]:
    node = handler.call.args[0]
    verb = str(ast.literal_eval(node))
    other = OTHER_VERB.get(verb, "POST")
    what = f"`{verb}` became `{other}`"
    yield handler.mutant("wrong-verb", node, what, (*handler.span(node), repr(other)))


def _shorten_path(handler: _Handler) -> Iterator[Mutant]:
    node = handler.call.args[1]
    path = str(ast.literal_eval(node))
    what = f"`{path}` lost its end"
    shorter = path.rstrip("/").rpartition("/")[0] or "/other"
    yield handler.mutant("wrong-path", node, what, (*handler.span(node), repr(shorter)))


def _format_path(handler: _Handler) -> Iterator[Mutant]:
    node, mapping = handler.call.args[1], handler.keyword("path_params")
    if isinstance(mapping, ast.Dict):
        path = handler.text(node)
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if key is not None:
                path = path.replace(f"{{{ast.literal_eval(key)}}}", f"{{{handler.text(value)}}}")
        edits = (*handler.span(node), f"f{path}"), (*handler.span(mapping), "{}")
        yield handler.mutant("unencoded-path", node, "values go into the path as they are", *edits)


def _list_items(handler: _Handler) -> Iterator[tuple[str, ast.Dict, ast.expr, ast.expr]]:
    """Yield the entries of the parameter maps: keyword, map, name and value."""
    for name in _MAPS:
        node = handler.keyword(name)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None:
                    yield name, node, key, value


def _change_parameter(handler: _Handler) -> Iterator[Mutant]:
    for place, mapping, key, value in _list_items(handler):
        name, other = handler.text(key), repr(f"{ast.literal_eval(key)}_")
        left = [
            f"{handler.text(each)}: {handler.text(its_value)}"
            for each, its_value in zip(mapping.keys, mapping.values, strict=True)
            if each is not None and each is not key
        ]
        edit = (*handler.span(mapping), f"{{{', '.join(left)}}}")
        yield handler.mutant("dropped-parameter", key, f"{name} is gone from `{place}`", edit)
        what = f"{name} became {other} in `{place}`"
        yield handler.mutant("renamed-parameter", key, what, (*handler.span(key), other))
        what = f"{name} of `{place}` is `None`, whatever is given"
        yield handler.mutant("fixed-argument", key, what, (*handler.span(value), "None"))


def _move_parameters(handler: _Handler) -> Iterator[Mutant]:
    for each in handler.call.keywords:
        if each.arg in _ELSEWHERE and not handler.keyword(_ELSEWHERE[each.arg]):
            other = _ELSEWHERE[each.arg]
            start, _ = handler.span(each.value)
            begin = start - len(f"{each.arg}=")
            what = f"`{each.arg}` became `{other}`"
            yield handler.mutant("moved-parameters", each.value, what, (begin, start, f"{other}="))


def _swap_parameters(handler: _Handler) -> Iterator[Mutant]:
    for (_, _, key, one), (_, _, other_key, other) in pairwise(_list_items(handler)):
        if handler.text(one) != handler.text(other):
            what = f"{handler.text(key)} and {handler.text(other_key)} have each other's values"
            edits = (
                (*handler.span(one), handler.text(other)),
                (*handler.span(other), handler.text(one)),
            )
            yield handler.mutant("swapped-parameters", key, what, *edits)


def _drop_body(handler: _Handler) -> Iterator[Mutant]:
    node = handler.keyword("body")
    if node is not None:
        start, end = handler.span(node)
        empty = (start, end, "{}")
        yield handler.mutant("lost-body", node, "an empty object is sent as the body", empty)
        gone = (start - len("body="), end, "")
        if handler.source[end : end + 1] == ",":
            gone = (start - len("body="), end + 1, "")
        yield handler.mutant("lost-body", node, "no body is sent", gone)


def _change_return(handler: _Handler) -> Iterator[Mutant]:
    node = handler.function.body[-1]
    start, end = handler.span(node)
    if isinstance(node, ast.Return):
        edits = (start, start + len("return "), ""), (end, end, "\n    return {}")
        yield handler.mutant("lost-result", node, "an empty object is returned", *edits)
    body = handler.source[start:end].replace("\n", "\n    ")
    text = f"try:\n        {body}\n    except Exception:\n        return None"
    what = "every error of the API is swallowed"
    yield handler.mutant("ignored-status", node, what, (start, end, text))
    again = f"await {handler.text(handler.call)}\n    "
    yield handler.mutant("sent-twice", node, "the request is sent twice", (start, start, again))
    yield handler.mutant("never-sent", node, "nothing is sent", (start, end, "return {}"))


_MAKERS: tuple[Callable[[_Handler], Iterator[Mutant]], ...] = (
    _change_verb,
    _shorten_path,
    _format_path,
    _change_parameter,
    _move_parameters,
    _swap_parameters,
    _drop_body,
    _change_return,
)
OPERATORS = tuple(
    """
    wrong-verb wrong-path unencoded-path dropped-parameter renamed-parameter moved-parameters
    swapped-parameters fixed-argument lost-body lost-result ignored-status sent-twice never-sent
    """.split()
)
"""Ids of the operators, in the order in which a tool's mutants are created and selected."""

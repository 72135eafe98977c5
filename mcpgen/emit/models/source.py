"""Checks of the models that datamodel-code-generator wrote, and generation of their modules.

The text is parsed, every definition is compared with its shape, and the module is written from the
checked tree. Comments, other statements and unknown names are not copied.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator, Mapping

from mcpgen.jsonschema.types import JsonObject

_TYPING = frozenset({"Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "Union"})
_BUILT_IN = frozenset({"bool", "dict", "float", "int", "list", "str"})
RESERVED_NAMES = _TYPING | _BUILT_IN


class UnprovenModelError(Exception):
    """The source of datamodel-code-generator differs from its request; the message states how."""


Definition = ast.ClassDef | ast.Assign | ast.AnnAssign


def prove_definitions(source: str, shapes: Mapping[str, JsonObject]) -> dict[str, Definition]:
    """Return the definitions of a generated module, after a comparison with their shapes.

    Raises:
        UnprovenModelError: one is missing, has other keys than its shape, or is not a type.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UnprovenModelError(f"line {error.lineno} does not parse") from None
    aliases = _read_typing_aliases(tree)
    spelling = _Spelling(aliases)
    # Most modules have neither an alias nor a union that `|` could write, and stay as they are.
    is_plain = all(alias == name != "Union" for alias, name in aliases.items())
    found: dict[str, Definition] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef | ast.Assign | ast.AnnAssign):
            definition = statement if is_plain else spelling.visit(statement)
            found[_find_name(definition)] = definition
        elif not isinstance(statement, ast.ImportFrom):
            raise UnprovenModelError(f"{type(statement).__name__} is not a definition")
    for name, shape in shapes.items():
        if name not in found:
            raise UnprovenModelError(f"{name} is not defined")
        _check(name, found[name], shape, set(shapes))
    return {name: found[name] for name in shapes}


def _read_typing_aliases(tree: ast.Module) -> dict[str, str]:
    """Return what each name that the module imports is called in `typing`."""
    aliases: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            if statement.module not in {"typing", "typing_extensions"}:
                raise UnprovenModelError(f"imports {statement.module}")
            aliases |= {each.asname or each.name: each.name for each in statement.names}
    if unknown := set(aliases.values()) - _TYPING:
        raise UnprovenModelError(f"imports {', '.join(sorted(unknown))}")
    return aliases


class _Spelling(ast.NodeTransformer):
    """Replaces aliases by the imported names, and `Union` by `|` where that can be evaluated."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._aliases.get(node.id, node.id), node.ctx), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=members)):
                if not any(isinstance(member, ast.Constant) and member.value for member in members):
                    return functools.reduce(lambda a, b: ast.BinOp(a, ast.BitOr(), b), members)
        return node


def _find_name(definition: Definition) -> str:
    match definition:
        case ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    raise UnprovenModelError(f"not a definition: {ast.unparse(definition):.80}")


def _check(name: str, definition: Definition, shape: JsonObject, known: set[str]) -> None:
    if "properties" not in shape:
        match definition:
            case ast.AnnAssign(annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value):
                _check_type(value, known)
                return
        raise UnprovenModelError(f"{name} is not an alias")
    fields = dict(_fields(definition))
    if set(fields) != set(shape["properties"]):
        raise UnprovenModelError(f"{name} has other keys than its schema")
    for key, annotation in fields.items():
        match annotation:
            case ast.Subscript(value=ast.Name(id="NotRequired"), slice=inner):
                is_required = False
            case inner:
                is_required = True
        if is_required != (key in shape.get("required", ())):
            raise UnprovenModelError(f"{name}[{key!r}] is required on one side only")
        _check_type(inner, known)


def _fields(definition: Definition) -> Iterator[tuple[str, ast.expr]]:
    """Return the keys of a `TypedDict` in class or functional syntax, with their types."""
    match definition:
        case ast.ClassDef(bases=[ast.Name(id="TypedDict")], keywords=[], decorator_list=[]):
            for statement in definition.body:
                match statement:
                    case ast.AnnAssign(target=ast.Name(id=key), annotation=annotation, value=None):
                        yield key, annotation
                    case ast.Pass():
                        pass
                    case _:
                        raise UnprovenModelError(f"{definition.name} holds more than keys")
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=ast.Name(id="TypedDict"),
                args=[ast.Constant(value=quoted), ast.Dict(keys=keys, values=values)],
                keywords=[],
            ),
        ) if quoted == name:
            for key_node, annotation in zip(keys, values, strict=True):
                if not isinstance(key_node, ast.Constant) or not isinstance(key_node.value, str):
                    raise UnprovenModelError(f"{name} has a key that is no string")
                yield key_node.value, annotation
        case _:
            raise UnprovenModelError(f"{_find_name(definition)} is not a TypedDict")


def _check_type(node: ast.expr, known: set[str]) -> None:
    match node:
        case ast.Name(id=name) if name == "Any" or name in _BUILT_IN or name in known:
            return
        case ast.Constant(value=None):
            return
        case ast.Constant(value=str(forward)) if forward in known:
            return
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            _check_type(left, known)
            _check_type(right, known)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            for value in values.elts if isinstance(values, ast.Tuple) else [values]:
                ast.literal_eval(value)
        case ast.Subscript(value=ast.Name(id="list" | "dict" | "Union"), slice=inner):
            for item in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                _check_type(item, known)
        case _:
            raise UnprovenModelError(f"not a type: {ast.unparse(node):.80}")


def format_module(
    docstring: str,
    definitions: Mapping[str, Definition],
    descriptions: Mapping[str, Mapping[str, str]],
) -> str:
    """Write the module: its docstring, its imports, and its definitions in an order that runs.

    `descriptions` has what documents the keys of a class, by its name: one line for each.
    """
    ordered = _runnable_order(definitions)
    kinds = {
        "TypeAlias" if isinstance(each, ast.AnnAssign) else "TypedDict"
        for each in definitions.values()
    }
    names = {name for each in definitions.values() for name in _names_used(each)}
    head = [
        _write_docstring(docstring),
        "from __future__ import annotations",
        f"from typing import {', '.join(sorted(kinds | names & _TYPING))}",
    ]
    written = (_text(definitions[name], descriptions.get(name, {})) for name in ordered)
    return "\n\n".join([*head, *written]) + "\n"


def _text(definition: Definition, descriptions: Mapping[str, str]) -> str:
    """Format a definition.

    Each key is documented by the string below it, and in the functional form, which has room for
    no string, by the comment above it.
    """
    if isinstance(definition, ast.AnnAssign):
        return ast.unparse(definition)
    name = _find_name(definition)
    lines: list[str] = []
    for key, annotation in _fields(definition):
        description = descriptions.get(key)
        if isinstance(definition, ast.ClassDef):
            lines.append(f"    {key}: {ast.unparse(annotation)}")
            lines += [f"    {_write_docstring(description)}"] if description else []
        else:
            lines += [f"    # {description}"] if description and description.isprintable() else []
            lines.append(f"    {key!r}: {ast.unparse(annotation)},")
    if isinstance(definition, ast.ClassDef):
        return "\n".join([f"class {name}(TypedDict):", *(lines or ["    pass"])])
    return "\n".join([f"{name} = TypedDict({name!r}, {{", *lines, "})"])


def _write_docstring(text: str) -> str:
    """Write a string in triple quotes, whatever it contains."""
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(text))], []))


def _names_used(definition: Definition) -> Iterator[str]:
    """Yield every name in a definition's types, quoted or not."""
    if isinstance(definition, ast.AnnAssign):
        types = [definition.value] if definition.value is not None else []
    else:
        types = [annotation for _, annotation in _fields(definition)]
    return itertools.chain.from_iterable(map(_names_of_type, types))


def _names_of_type(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            yield name
        case ast.Subscript(value=ast.Name(id="Literal")):
            yield "Literal"
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            yield name
            yield from _names_of_type(inner)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _names_of_type(child)


def _runnable_order(definitions: Mapping[str, Definition]) -> list[str]:
    """Order by name, but put names before definitions whose import evaluates them.

    Annotations in a class body are not evaluated; an alias and a functional `TypedDict` are.
    """
    ordered: dict[str, None] = {}
    entered: set[str] = set()
    for root in sorted(definitions):
        to_do = [(root, False)]
        while to_do:
            name, is_left = to_do.pop()
            if is_left:
                ordered[name] = None
            elif name not in entered:
                entered.add(name)
                to_do.append((name, True))
                needed = _find_evaluated_names(definitions[name]) & definitions.keys()
                to_do.extend((each, False) for each in sorted(needed, reverse=True))
    return list(ordered)


def _find_evaluated_names(definition: Definition) -> set[str]:
    if isinstance(definition, ast.ClassDef) or definition.value is None:
        return set()
    return {node.id for node in ast.walk(definition.value) if isinstance(node, ast.Name)}

"""Imports of generated modules, in the order in which ruff sorts them.

It is the order of isort's defaults: the standard library, other packages, the package itself;
constants, classes and other names; numbers in names by their value. Modules that are rendered in
this order need no run of ruff that sorts them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Set
from functools import cmp_to_key

from msgspec import Struct

from mcpgen.render.environment import Source, identifier

_TOKEN = re.compile(r"[0-9]+|[^0-9]")


class ImportView(Struct, frozen=True):
    """`from <module> import <names>`."""

    module: Source
    names: Source


ImportSections = tuple[tuple[ImportView, ...], ...]
"""Groups of imports, with an empty line between them."""


def spell_sections(modules: Mapping[str, Set[str]], package: str) -> ImportSections:
    """Return the imports of names from modules; `package` is the one that they are written into."""
    sections: dict[int, list[ImportView]] = {0: [], 1: [], 2: []}
    for module in _sort_naturally(module for module, names in modules.items() if names):
        view = ImportView(
            module=Source(".".join(identifier(part) for part in module.split("."))),
            names=Source(", ".join(identifier(name) for name in sort_names(modules[module]))),
        )
        sections[_find_section(module, package)].append(view)
    return tuple(tuple(views) for views in sections.values() if views)


def _find_section(module: str, package: str) -> int:
    root = module.partition(".")[0]
    if root == package:
        return 2
    return 0 if root in sys.stdlib_module_names else 1


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort the names that are imported from one module."""
    return sorted(_sort_naturally(names), key=_rank_kind)


def _rank_kind(name: str) -> int:
    """Return 0 for a constant, 1 for a class, 2 for another name, by their spelling."""
    if len(name) > 1 and name.isupper():
        return 0
    return 1 if name[0].isupper() else 2


def _sort_naturally(names: Iterable[str]) -> list[str]:
    in_order = sorted(names, key=cmp_to_key(_compare))
    return sorted(in_order, key=cmp_to_key(_compare_without_case))


def _compare_without_case(one: str, other: str) -> int:
    return _compare(one.lower(), other.lower())


def _compare(one: str, other: str) -> int:
    """Compare two names; numbers in them by their value, unless one of them begins with 0."""
    if one == other:
        return 0
    left, right = _TOKEN.findall(one), _TOKEN.findall(other)
    for mine, yours in zip(left, right, strict=False):
        if mine == yours:
            continue
        are_numbers = mine.isdigit() and yours.isdigit()
        if are_numbers and "0" not in (mine[0], yours[0]) and len(mine) != len(yours):
            return len(mine) - len(yours)
        return -1 if mine < yours else 1
    return len(left) - len(right)

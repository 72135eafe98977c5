"""Imports of generated modules, in the order in which ruff sorts them.

It is the order of isort's defaults: the standard library, other packages, the package itself;
constants, classes and other names; numbers in names by their value. Modules that are rendered in
this order need no run of ruff that sorts them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Set

from msgspec import Struct

from mcpgen.render.environment import Source, identifier

_TOKEN = re.compile(r"[0-9]+|[^0-9]")


class ImportView(Struct, frozen=True):
    """`from <module> import <names>`."""

    module: Source
    names: Source


ImportSections = tuple[tuple[ImportView, ...], ...]
"""The imports of a module in sections, which an empty line separates."""


def spell_sections(modules: Mapping[str, Set[str]], package: str) -> ImportSections:
    """Return the imports of names from modules; `package` is the one that they are written into."""
    sections: tuple[list[ImportView], ...] = ([], [], [])
    for module in sorted((it for it in modules if modules[it]), key=_make_sort_key):
        view = ImportView(
            module=Source(".".join(identifier(part) for part in module.split("."))),
            names=Source(", ".join(identifier(name) for name in sort_names(modules[module]))),
        )
        sections[_find_section(module, package)].append(view)
    return tuple(tuple(views) for views in sections if views)


def _find_section(module: str, package: str) -> int:
    """Return 0 for the standard library, 1 for other packages, 2 for `package`."""
    root = module.partition(".")[0]
    if root == package:
        return 2
    return 0 if root in sys.stdlib_module_names else 1


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort the names that are imported from one module."""
    return sorted(names, key=lambda name: (_rank_kind(name), *_make_sort_key(name)))


def _rank_kind(name: str) -> int:
    """Rank a name by the case of its letters: constants first, then classes, then others."""
    if len(name) > 1 and name.isupper():
        return 0
    return 1 if name[0].isupper() else 2


def _make_sort_key(name: str) -> tuple[object, object]:
    """Return the key that sorts `x9` before `x10`, and compares without case first."""
    return _split(name.lower()), _split(name)


def _split(name: str) -> list[tuple[str, int, str]]:
    """Split a name into parts, of which numbers sort by their value, or by digits if 0 is first."""
    return [
        (token[0], 0, token)
        if not token.isdigit() or token.startswith("0")
        else ("1", len(token), token)
        for token in _TOKEN.findall(name)
    ]

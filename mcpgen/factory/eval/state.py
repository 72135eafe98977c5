"""Checks of what the stateful mock stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from mcpgen.factory.eval.calls import contains, format_json
from mcpgen.ir.eval_references import UnresolvedError, resolve
from mcpgen.ir.eval_tasks import StateCheck
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.testing import MockUpstream


def find_violations(
    checks: Iterable[StateCheck], mock: MockUpstream, results: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Yield the violations of checks by the state; `results` are those of the required calls."""
    for check in checks:
        try:
            path = str(resolve(check.path, results))
            has, lacks = (resolve(it, results) for it in (check.has, check.lacks))
        except UnresolvedError as error:
            yield f"the state of {check.path} cannot be compared: {error}"
            continue
        items = None if mock.state is None else mock.state.list_stored(path, check.source)
        if items is None:
            yield f"the mock stores no items at {path}"
            continue
        yield from _check_items(path, items, has, lacks, check.count)


def _check_items(
    path: str,
    items: list[JsonObject],
    has: JsonObject | None,
    lacks: JsonObject | None,
    count: int | None,
) -> Iterator[str]:
    found = [item for item in items if has is None or contains(item, has)]
    if count is not None and len(found) != count:
        which = "" if has is None else f" with {format_json(has)}"
        yield f"{path} has {format_count(len(found), 'item')}{which}, expected {count}"
    elif has is not None and count is None and not found:
        yield f"{path} has no item with {format_json(has)} among {format_count(len(items), 'item')}"
    if lacks is not None and any(contains(item, lacks) for item in items):
        yield f"{path} has an item with {format_json(lacks)}, expected none"

"""Policies of servers without a manifest file."""

from __future__ import annotations

from collections.abc import Iterable

from mcpgen.diagnostics import Location
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import DEFAULT_BUDGET, LocatedManifest, Manifest, SelectRule, ServerEntry
from mcpgen.ir.manifest_entries import ResultsEntry
from mcpgen.plan.policy import Policy


def first_policy(
    name: str,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    models: bool = True,
    budget: int = DEFAULT_BUDGET,
    handles: bool = False,
    trusts: bool = False,
) -> Policy:
    """Return the policy of a new server with this name, selection and budget."""
    manifest = Manifest(
        server=ServerEntry(name=name, trust="own" if trusts else None),
        sources=(),
        models=models,
        budget=budget,
        results=ResultsEntry(handles=handles),
        select=(
            *(SelectRule(exclude=glob) for glob in exclude),
            *(SelectRule(include=glob) for glob in include),
        ),
    )
    return Policy(LocatedManifest(manifest, lambda _: Location(MANIFEST_FILE)))

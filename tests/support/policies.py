"""Policies of servers without a manifest file."""

from __future__ import annotations

from collections.abc import Iterable

from mcpgen.diagnostics import Location
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, Manifest, SelectRule, ServerEntry
from mcpgen.plan.policy import Policy


def first_policy(
    name: str,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    models: bool = True,
) -> Policy:
    """Return the policy of a new server with this name and selection."""
    manifest = Manifest(
        server=ServerEntry(name=name),
        sources=(),
        models=models,
        select=(
            *(SelectRule(exclude=glob) for glob in exclude),
            *(SelectRule(include=glob) for glob in include),
        ),
    )
    return Policy(LocatedManifest(manifest, lambda _: Location(MANIFEST_FILE)))

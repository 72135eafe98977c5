"""The scores of the examples, from their committed evidence."""

from __future__ import annotations

from mcpgen.factory.wire.session import REVISIONS
from mcpgen.pipeline.project.evidence import VALIDATE, read_evidence
from mcpgen.pipeline.project.workspace import format_table
from tests.support.paths import EXAMPLES


def validation() -> str:
    """Return the score of each example in each revision, and how many requirements it exercised."""
    rows = []
    for directory in sorted(EXAMPLES.glob("*-mcp")):
        revisions = (read_evidence(directory, VALIDATE) or {}).get("revisions", {})
        cells = [
            f"{it['score']}, {it['exercised']} of {it['applicable']}" if it else "-"
            for it in (revisions.get(revision) for revision in REVISIONS)
        ]
        transports = [each for it in revisions.values() for each in it["transports"].values()]
        least = min((each["coverage"] for each in transports), default=0)
        rows.append([directory.name, *cells, f"{100 * least:.1f} %"])
    return format_table(["server", *REVISIONS, "least exercised over one transport"], rows)

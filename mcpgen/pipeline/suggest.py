"""`overlay suggest`: the repairs that reading a document makes, as an overlay to keep."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.json_types import JsonObject
from mcpgen.pipeline.options import DONE, REJECTED, USAGE, GenerateOptions, Progress


class Suggestion(Struct, frozen=True):
    """An overlay, or None where reading the document repaired nothing that one can state."""

    problems: Problems
    exit_code: int
    overlay: JsonObject | None = None


def suggest(source: str, options: GenerateOptions, progress: Progress) -> Suggestion:
    """Read the document at `source`, or that of the project in this folder with its overlays."""
    from mcpgen.ir.manifest import SourceEntry
    from mcpgen.pipeline.planned import read_intent, read_source
    from mcpgen.spec.repairs import overlay_of

    problems = Problems()
    target, entry = Path(), SourceEntry(document=source)
    try:
        if Path(source).is_dir():
            target = Path(source)
            sources = read_intent(target, problems).manifest.sources
            if len(sources) != 1:
                problems.error(
                    "several-documents",
                    f"{source} has {len(sources)} documents, and an overlay mends one",
                    why="each source lists its own overlays",
                    help="name the document: `mcpgen overlay suggest DOCUMENT`",
                )
                return Suggestion(problems, USAGE)
            entry = sources[0]
        document = read_source(target, entry, options, problems, progress)
    except RejectedError:
        return Suggestion(problems, REJECTED)
    return Suggestion(problems, DONE, overlay_of(document, problems))

"""`overlay suggest`: write the repairs that reading a document makes as an overlay."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress


class Suggestion(Struct, frozen=True):
    """An overlay; None if reading the document repaired nothing that an overlay can express."""

    problems: Problems
    outcome: Outcome
    overlay: JsonObject | None = None


def suggest(source: str, options: GenerateOptions, progress: Progress) -> Suggestion:
    """Parse a document, or the only one of a project with its overlays, and collect the repairs."""
    from mcpgen.ir.manifest import SourceEntry
    from mcpgen.openapi.lower.repairs import overlay_of
    from mcpgen.pipeline.build import read_source
    from mcpgen.pipeline.project.read_inputs import read_intent

    problems = Problems()
    target, entry = Path(), SourceEntry(document=source)
    try:
        if Path(source).is_dir():
            target = Path(source)
            sources = read_intent(target, problems).manifest.sources
            if len(sources) != 1:
                problems.error(
                    "several-documents",
                    f"{source} has {len(sources)} documents, expected one",
                    why="an overlay repairs one document, and each source lists its own overlays",
                    help="name the document: `mcpgen overlay suggest DOCUMENT`",
                )
                return Suggestion(problems, Outcome.USAGE)
            entry = sources[0]
        document = read_source(target, entry, options, problems, progress)
    except RejectedError:
        return Suggestion(problems, Outcome.REJECTED)
    return Suggestion(problems, Outcome.DONE, overlay_of(document, problems))

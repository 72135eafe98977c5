"""Load, resolve, validate and lower one API description."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mcpgen.diagnostics import Problems
from mcpgen.garbage import pause_garbage_collection
from mcpgen.ir.api import Api
from mcpgen.ir.document import Document
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.source.secrets import redact_secrets
from mcpgen.openapi.validate.validate import MAX_VALIDATED_BYTES, validate
from mcpgen.pipeline.options import BuildOptions, Progress, StageNote
from mcpgen.pipeline.user_cache import user_cache
from mcpgen.text.counts import format_count, format_size

if TYPE_CHECKING:
    from mcpgen.manifest.overlay import OverlayFile
    from mcpgen.manifest.typed_file import TypedFile


class ParsedDocument(Struct, frozen=True):
    """An API description after all stages that read it."""

    document: Document  # without the changes of its overlays
    api: Api


@pause_garbage_collection()
def parse_source(
    source: str, options: BuildOptions, problems: Problems, progress: Progress
) -> ParsedDocument:
    """Load the document at `source`, a path or a URL, and parse it.

    Raises:
        RejectedError: the document is unusable; `problems` contains the reason.
    """
    return parse_document(load_source(source, problems, progress), options, problems, progress)


def load_source(
    source: str, problems: Problems, progress: Progress, *, shown_as: str = ""
) -> Document:
    """Load the document at `source`, a path or a URL.

    Raises:
        RejectedError: the document is unusable; `problems` contains the reason.
    """
    progress(f"load {shown_as or source}")
    document = load(source, problems)
    size = sum(len(file.content) for file in document.files)
    progress(StageNote(f"OpenAPI {document.version}, {format_size(size)}"))
    return document


@pause_garbage_collection()
def parse_document(
    document: Document,
    options: BuildOptions,
    problems: Problems,
    progress: Progress,
    *,
    overlays: Sequence[TypedFile[OverlayFile]] = (),
    max_validated_bytes: int = MAX_VALIDATED_BYTES,
) -> ParsedDocument:
    """Apply the overlays to a loaded document, then resolve, validate and lower it.

    openapi-spec-validator takes many seconds for a document of more than `max_validated_bytes`, so
    it checks such a document only if the options require it.

    Raises:
        RejectedError: the document is unusable; `problems` contains the reason.
    """
    changed = document
    if overlays:
        from mcpgen.manifest.overlay import apply_overlays  # needs JSONPath, rarely used

        changed = apply_overlays(document, overlays, problems)
    progress("resolve")
    resolved = resolve(changed, problems)
    progress(StageNote(format_count(len(resolved.files), "file")))
    progress("validate")
    validate(
        resolved,
        problems,
        external_validator=options.external_validator is not False,
        max_validated_bytes=sys.maxsize if options.external_validator else max_validated_bytes,
        cache_folder=(options.cache or user_cache()) / "validated",
    )
    progress("lower")
    original = resolved
    if overlays:  # the overlays do not decide which files belong to the document
        original = resolve(document, Problems()) if len(resolved.files) > 1 else document
    api = lower(resolved, problems)
    tags = {tag for operation in api.operations for tag in operation.tags or (operation.tag,)}
    found = format_count(len(api.operations) + len(api.skipped), "operation")
    progress(StageNote(f"{found}, {format_count(len(tags), 'tag')}"))
    return ParsedDocument(redact_secrets(original, problems), api)

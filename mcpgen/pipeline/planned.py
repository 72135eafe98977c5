"""What a project's folder asks for, planned: the step that `generate`, `pull` and others share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lock import Lock, with_lf
from mcpgen.ir.document import Document
from mcpgen.ir.manifest import MANIFEST_FILE, LocatedManifest
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline import stages
from mcpgen.pipeline.options import GenerateOptions, Progress
from mcpgen.pipeline.project_folder import read_file
from mcpgen.plan.by_hand import plan_by_hand
from mcpgen.plan.policy import Policy
from mcpgen.spec.arazzo import ArazzoDocuments
from mcpgen.spec.fetch import is_url
from mcpgen.spec.load import load
from mcpgen.spec.manifest import read_manifest
from mcpgen.spec.validate import JUDGED_BYTES
from mcpgen.spec.workflows import read_workflows

# A larger document is judged by openapi-spec-validator where it enters, by `new` and `pull`; at
# each change of it, that would take most of the time of `generate`.
_JUDGED_AGAIN_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Planned:
    """A server, planned, and the document that it was planned from as it lies in the project."""

    plan: ServerPlan
    document: Mapping[str, bytes]  # by path, the root file first; empty where there is none


def read_intent(target: Path, problems: Problems) -> LocatedManifest:
    """Read the project's manifest.

    Raises:
        RejectedError: there is none, or it cannot be followed.
    """
    content = read_file(target, MANIFEST_FILE)
    if content is None:
        problems.error(
            "no-manifest",
            f"{target / MANIFEST_FILE} is missing",
            why="it says what the server is called and what it exposes",
            help="take it back from version control",
        )
        raise RejectedError
    return read_manifest(content, problems)


def plan_project(
    target: Path,
    lock: Lock,
    intent: LocatedManifest,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    *,
    document: Document | None = None,
) -> Planned:
    """Plan the server that the manifest asks for, of `document` or of the one in the project.

    Raises:
        RejectedError: nothing can be made of it; `problems` says why.
    """
    sources = intent.manifest.sources
    if not sources:
        return Planned(plan_by_hand(intent.manifest.server.name), {})
    path = sources[0].document
    source = lock.document.source
    judged_bytes = JUDGED_BYTES
    if document is None:
        judged_bytes = _JUDGED_AGAIN_BYTES
        progress(f"reading {path}")
        document = load(str(target / path), problems)
        if is_url(source):  # relative server URLs are meant relative to where it came from
            document = replace(document, url=source)
    understood = stages.understand_document(
        document,
        problems,
        progress,
        outside_judge=options.outside_judge,
        judged_bytes=judged_bytes,
        cache=options.cache,
    )
    workflows = read_workflows(intent, ArazzoDocuments(target, sources, problems).read, problems)
    policy = Policy(intent, lock.operations, workflows)
    plan = stages.plan_server(understood.api, policy, problems, strict=options.strict)
    return Planned(plan, vendored_at(path, understood.document))


def vendored_at(path: str, document: Document) -> dict[str, bytes]:
    """Give a document's files by where they lie in a project whose manifest says `path`."""
    folder = path.rpartition("/")[0]
    return {
        f"{folder}/{file.name}" if folder else file.name: with_lf(file.content)
        for file in document.files
    }

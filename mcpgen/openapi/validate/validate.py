"""Validation of a document: OpenAPI's schemas, further checks, and an external validator.

Many published documents violate the specification, so a violation is a warning. The later stages
decide what can be served.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.ir.document import Document
from mcpgen.openapi.validate.external import ExternalResult, start_validation
from mcpgen.openapi.validate.findings import Findings
from mcpgen.openapi.validate.meta_schema import find_violations
from mcpgen.openapi.validate.operations import check_operations
from mcpgen.openapi.validate.texts import find_suspicious_texts

JUDGED_BYTES = 2 * 1024 * 1024


def validate(
    document: Document,
    problems: Problems,
    *,
    external_validator: bool = True,
    max_validated_bytes: int = JUDGED_BYTES,
    cache_folder: Path | None = None,
) -> None:
    """Validate a resolved document; report errors only if nothing could be served.

    openapi-spec-validator also checks the document, in a bounded child process, if the document has
    at most `max_validated_bytes` bytes and no error was found so far. Its findings are warnings,
    cached in `cache_folder` by the document's content. This function does not wait for them:
    `problems` adds them before it is iterated.
    """
    findings = Findings(document, problems)
    _check_secrets(findings)
    _check_meta_schema(findings)
    check_operations(findings)
    _check_texts(findings)
    size = sum(len(file.content) for file in document.files)
    # With broken references, the external validator only stops.
    is_whole = not (problems.has_errors or document.skipped)
    if external_validator and size <= max_validated_bytes and is_whole:
        pending = start_validation(document.root, cache_folder)
        known = tuple(problems.so_far())
        problems.add_later(lambda later: _add_result(pending.join(), findings, known, later))
    findings.report_omitted()


def _check_secrets(findings: Findings) -> None:
    """Warn about credentials; excerpts mask them."""
    for secret in findings.document.secrets:
        findings.warn(
            "secret-in-document",
            "credential in the document",
            secret.tokens,
            why="documents are copied, committed and published; a server reads its credentials "
            "from its environment",
            help="remove it from the document, and revoke it",
        )


def _check_meta_schema(findings: Findings) -> None:
    document = findings.document
    for violation in find_violations(document.root, document.version):
        # `resolve` reports the same place in more detail.
        if findings.is_reported(findings.at(violation.tokens)):
            continue
        findings.warn(
            "openapi-schema",
            violation.message,
            violation.tokens,
            why=f"the schema of OpenAPI {document.version} requires it; other tools may reject the"
            " document",
            help=violation.help,
        )


def _check_texts(findings: Findings) -> None:
    for found in find_suspicious_texts(findings.document.root):
        findings.warn(found.code, found.message, found.tokens, why=found.why, help=found.help)


def _add_result(
    result: ExternalResult, findings: Findings, known: Iterable[Diagnostic], problems: Problems
) -> None:
    """Add the findings of the external validator that were not `known` when it started."""
    if result.failure:
        problems.note(
            "outside-judge",
            f"no result from openapi-spec-validator: {result.failure}",
            at=Location(findings.document.shown_as),
            why="mcpgen's own checks passed; these decide",
        )
    new = [one for one in result.findings if not findings.is_reported_within(one.tokens, known)]
    if not new:
        return
    message = new[0].message
    for secret in findings.document.secrets:
        message = message.replace(secret.text, "***")
    more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
    problems.warning(
        "outside-judge",
        f"openapi-spec-validator: {message}{more}",
        at=findings.at(new[0].tokens)
        if findings.has_value(new[0].tokens)
        else Location(findings.document.shown_as),
        why="other tools may reject the document",
        help="mcpgen works without a change; run `openapi-spec-validator` for all its findings",
    )

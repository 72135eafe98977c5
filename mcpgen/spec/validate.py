"""Judges a document: by OpenAPI's schemas, by what those cannot say, and by an outside validator.

Published documents break the letter of the specification, the best known ones among them, so a
violation is a warning, and what a document means is decided by the stages that read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.ir.document import Document
from mcpgen.spec.findings import Findings
from mcpgen.spec.judging import Judgement, judge
from mcpgen.spec.meta_schema import violations
from mcpgen.spec.operation_checks import check_operations
from mcpgen.spec.text_checks import suspicious_texts

JUDGED_BYTES = 2 * 1024 * 1024


def validate(
    document: Document,
    problems: Problems,
    *,
    outside_judge: bool = True,
    judged_bytes: int = JUDGED_BYTES,
    cache_folder: Path | None = None,
) -> None:
    """Report what is wrong with a resolved document; errors only where nothing could be served.

    openapi-spec-validator is asked as well, in a bounded child process, when the document is no
    larger than `judged_bytes` and nothing so far is an error. Its verdict is a warning at most, and
    is kept in `cache_folder` by the document's content. It is not waited for here: it is added to
    `problems` before anyone goes through them.
    """
    findings = Findings(document, problems)
    _check_secrets(findings)
    _check_meta_schema(findings)
    check_operations(findings)
    _check_texts(findings)
    size = sum(len(file.content) for file in document.files)
    # Of a document with broken references it says nothing but that it stopped.
    is_whole = not (problems.has_errors or document.left_out)
    if outside_judge and size <= judged_bytes and is_whole:
        judgement = judge(document.root, cache_folder)
        known = tuple(problems.so_far())
        problems.add_later(lambda later: _add_verdict(judgement.join(), findings, known, later))
    findings.count_the_rest()


def _check_secrets(findings: Findings) -> None:
    """Warn of credentials, without showing them: excerpts mask what is found here."""
    for secret in findings.document.secrets:
        findings.warn(
            "secret-in-document",
            "a credential stands in the document",
            secret.tokens,
            why="documents are copied, committed and published; a server reads its credentials "
            "from its environment",
            help="remove it here, and revoke it where it was issued",
        )


def _check_meta_schema(findings: Findings) -> None:
    document = findings.document
    for violation in violations(document.root, document.version):
        # What resolving found there is not told again by a schema that sees less of it.
        if findings.is_told(findings.at(violation.tokens)):
            continue
        findings.warn(
            "openapi-schema",
            violation.message,
            violation.tokens,
            why=f"the schema of OpenAPI {document.version} demands it; other tools may refuse this",
            help=violation.help,
        )


def _check_texts(findings: Findings) -> None:
    for found in suspicious_texts(findings.document.root):
        findings.warn(found.code, found.message, found.tokens, why=found.why, help=found.help)


def _add_verdict(
    judgement: Judgement, findings: Findings, known: Iterable[Diagnostic], problems: Problems
) -> None:
    """Add what the validator found beyond the problems that were `known` when it was asked."""
    if judgement.gave_up:
        problems.note(
            "outside-judge",
            f"openapi-spec-validator gave no verdict: {judgement.gave_up}",
            at=Location(findings.document.shown_as),
            why="mcpgen's own checks passed, and decide",
        )
    new = [one for one in judgement.objections if not findings.is_told_within(one.tokens, known)]
    if not new:
        return
    message = new[0].message
    for secret in findings.document.secrets:
        message = message.replace(secret.text, "***")
    more = f" (and {len(new) - 1} times more)" if len(new) > 1 else ""
    problems.warning(
        "outside-judge",
        f"openapi-spec-validator objects: {message}{more}",
        at=findings.at(new[0].tokens)
        if findings.leads_somewhere(new[0].tokens)
        else Location(findings.document.shown_as),
        why="other tools may refuse the document",
        help="mcpgen goes on without a change here; `openapi-spec-validator` tells all of it",
    )

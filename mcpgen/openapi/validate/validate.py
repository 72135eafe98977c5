"""Validation of a document: OpenAPI's schemas, further checks, and an external validator.

Many published documents violate the specification, so a violation is a warning. The later stages
decide what can be served.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mcpgen.absent import ABSENT
from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.forked import Forked
from mcpgen.ir.api import SAFE_METHODS
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.values import value_at
from mcpgen.openapi.lower.lower import RawOperation, follow, operations
from mcpgen.openapi.validate.external import ExternalResult, start_validation
from mcpgen.openapi.validate.violations import find_violations
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.uri_template import mask_variables

if TYPE_CHECKING:
    from mcpgen.openapi.validate.texts import TextFinding

_MAX_OF_A_CODE = 50
_LOOKALIKE_SCRIPTS = frozenset({"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"})


class Findings:
    """Problems of one document, reported by reference tokens.

    At most 50 warnings of a code are reported; the others are counted.
    """

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self._counts: Counter[str] = Counter()

    def at(self, tokens: tuple[str, ...]) -> Location:
        """Return the location of the value at `tokens`."""
        return self.document.locate(json_pointer(tokens))

    def is_reported(self, at: Location) -> bool:
        """Return whether a problem at this location was reported already."""
        return any(
            (known.at.file, known.at.line, known.at.column) == (at.file, at.line, at.column)
            for known in self.problems.so_far()
            if known.at is not None
        )

    def is_reported_within(self, tokens: tuple[str, ...], known: Iterable[Diagnostic]) -> bool:
        """Return whether a `known` problem is at `tokens` or below; false for the root."""
        at = self.at(tokens)
        return bool(tokens) and any(
            one.at.file == at.file
            and (one.at.pointer == at.pointer or one.at.pointer.startswith(at.pointer + "/"))
            for one in known
            if one.at is not None
        )

    def warn(
        self, code: str, message: str, tokens: tuple[str, ...], *, why: str, help: str
    ) -> None:
        """Report a warning about the value at `tokens`."""
        self._counts[code] += 1
        if self._counts[code] <= _MAX_OF_A_CODE:
            self.problems.warning(code, message, at=self.at(tokens), why=why, help=help)

    def report_omitted(self) -> None:
        """Report the number of omitted warnings of each code."""
        for code, count in sorted(self._counts.items()):
            if count > _MAX_OF_A_CODE:
                self.problems.note(
                    "more-of-the-same",
                    f"{count - _MAX_OF_A_CODE:,} more warnings `{code}`",
                    at=Location(self.document.shown_as),
                )


def check_operations(findings: Findings) -> None:
    """Check that a document has operations, and check their ids, paths, annotations and names."""
    found = list(operations(findings.document.root))
    if not found and not findings.problems.has_errors:
        findings.problems.error(
            "no-operations",
            "no operations in the document",
            at=findings.at(("paths",)),
            why="each operation under `paths` becomes a tool; webhooks and callbacks are requests "
            "that the API sends, not requests that it receives",
            help="pass the document that contains the API's `paths`",
        )
    _check_ids(found, findings)
    _check_paths(found, findings)
    for operation in found:
        _check_annotations(operation, findings)
    _check_names(found, findings)


def _check_ids(found: list[RawOperation], findings: Findings) -> None:
    first: dict[str, RawOperation] = {}
    for operation in found:
        name = operation.node.get("operationId")
        if not isinstance(name, str):
            continue
        known = first.setdefault(name, operation)
        if known.node is operation.node:
            continue  # two paths share one path item
        place = (*known.tokens, "operationId")
        findings.problems.error(
            "duplicate-operation-id",
            f"duplicate operationId `{name}` of `{operation.key}`, also of `{known.key}` "
            f"({findings.at(place)}, {json_pointer(place)})",
            at=findings.at((*operation.tokens, "operationId")),
            why="tool names are derived from it, and must not move from one operation to another",
            help="write a unique operationId for each operation, or remove it",
        )


def _check_paths(found: list[RawOperation], findings: Findings) -> None:
    seen: dict[tuple[str, str], str] = {}
    for operation in found:
        plain = mask_variables(operation.path)
        other = seen.setdefault((operation.method, plain), operation.path)
        if other != operation.path:
            findings.warn(
                "equivalent-paths",
                f"equivalent paths: `{operation.key}` and `{operation.method} {other}`",
                ("paths", operation.path),
                why="they differ only in names of parameters, which OpenAPI does not allow",
                help="merge them into one path",
            )


def _check_annotations(operation: RawOperation, findings: Findings) -> None:
    """Warn if the document declares an operation more harmless than its method."""
    extension = operation.node.get("x-mcp")
    hints = extension.get("annotations") if isinstance(extension, dict) else None
    if operation.method in SAFE_METHODS or not isinstance(hints, dict):
        return
    claims = {"readOnlyHint": True}
    if operation.method == "DELETE":
        claims["destructiveHint"] = False
    for hint, claim in claims.items():
        if hints.get(hint) is claim:
            findings.warn(
                "annotation-contradiction",
                f"`{hint}: {str(claim).lower()}` contradicts the method of `{operation.key}`",
                (*operation.tokens, "x-mcp", "annotations", hint),
                why="clients may call harmless tools without asking the user",
                help="mcpgen decides annotations by rules; set others in mcpgen.yaml",
            )


def _check_names(found: list[RawOperation], findings: Findings) -> None:
    """Warn about identifiers that mix scripts with similar letters."""
    for tokens, name in _identifiers(found, findings.document.root):
        scripts = _find_lookalike_scripts(name)
        if len(scripts) > 1:
            findings.warn(
                "mixed-script",
                f"the name {name!a} mixes {' and '.join(sorted(scripts))} letters",
                tokens,
                why="it may look identical to another name",
                help="use letters of one script",
            )


def _find_lookalike_scripts(identifier: str) -> frozenset[str]:
    """Return the scripts of a name's letters, limited to scripts with Latin lookalikes."""
    if identifier.isascii():
        return frozenset()
    names = (unicodedata.name(character, "") for character in identifier if character.isalpha())
    return frozenset(name.partition(" ")[0].title() for name in names) & _LOOKALIKE_SCRIPTS


def _identifiers(
    found: list[RawOperation], root: JsonObject
) -> Iterator[tuple[tuple[str, ...], str]]:
    for operation in found:
        yield (*operation.tokens, "operationId"), str(operation.node.get("operationId", ""))
        for key in ("tags", "parameters"):
            listed = operation.node.get(key)
            for index, item in enumerate(listed if isinstance(listed, list) else ()):
                place, named = follow(root, (*operation.tokens, key, str(index)), item)
                if isinstance(named, dict):
                    place, named = (*place, "name"), named.get("name")
                yield place, str(named)
    for tokens in (("components", "schemas"), ("definitions",)):
        named = value_at(root, json_pointer(tokens))
        for name in named if isinstance(named, dict) else ():
            yield (*tokens, name), name


MAX_VALIDATED_BYTES = 2 * 1024 * 1024
_MIN_BYTES_TO_FORK = 256 * 1024  # whose texts take about 40 ms


def validate(
    document: Document,
    problems: Problems,
    *,
    external_validator: bool = True,
    max_validated_bytes: int = MAX_VALIDATED_BYTES,
    cache_folder: Path | None = None,
) -> None:
    """Validate a resolved document; report errors only if nothing could be served.

    openapi-spec-validator also checks the document, in a bounded child process, if the document has
    at most `max_validated_bytes` bytes and no error was found so far. Its findings are warnings,
    cached in `cache_folder` by the document's content. This function does not wait for them, nor
    for the search of a large document's texts: `problems` adds them before it is iterated.
    """
    size = sum(len(file.content) for file in document.files)
    is_external = external_validator and size <= max_validated_bytes
    search = Forked(
        lambda: _search_texts(document.root),
        is_worth_it=size > _MIN_BYTES_TO_FORK and not is_external,
    )
    findings = Findings(document, problems)
    _check_secrets(findings)
    _check_meta_schema(findings)
    check_operations(findings)
    if search.is_running:
        problems.add_later(lambda later: _add_texts(search, findings, later))
    else:
        _add_texts(search, findings, problems)
    # With broken references, the external validator only stops.
    is_whole = not (problems.has_errors or document.skipped)
    if is_external and is_whole:
        pending = start_validation(document.root, cache_folder)
        known = tuple(problems.so_far())
        problems.add_later(lambda later: _add_result(pending.join(), findings, known, later))


def _search_texts(root: JsonObject) -> list[TextFinding]:
    from mcpgen.openapi.validate.texts import find_suspicious_texts  # in the child, if there is one

    return [*find_suspicious_texts(root)]


def _add_texts(search: Forked[list[TextFinding]], findings: Findings, problems: Problems) -> None:
    """Wait for the findings in texts, add them, and count what was omitted."""
    with search:
        texts = search.result()
    findings.problems = problems
    for found in texts:
        findings.warn(found.code, found.message, found.tokens, why=found.why, help=found.help)
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


def _add_result(
    result: ExternalResult, findings: Findings, known: Iterable[Diagnostic], problems: Problems
) -> None:
    """Add the findings of the external validator that were not `known` when it started."""
    if result.failure:
        problems.note(
            "external-validator",
            f"no result from openapi-spec-validator: {result.failure}",
            at=Location(findings.document.shown_as),
            why="mcpgen's own checks passed; these decide",
        )
    new = [one for one in result.findings if not findings.is_reported_within(one.tokens, known)]
    if not new:
        return
    tokens, message = new[0].tokens, new[0].message
    found = value_at(findings.document.root, json_pointer(tokens))
    has_value = bool(tokens) and found not in (None, ABSENT)
    for secret in findings.document.secrets:
        message = message.replace(secret.text, "***")
    more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
    problems.warning(
        "external-validator",
        f"openapi-spec-validator: {message}{more}",
        at=findings.at(tokens) if has_value else Location(findings.document.shown_as),
        why="other tools may reject the document",
        help="mcpgen works without a change; run `openapi-spec-validator` for all its findings",
    )

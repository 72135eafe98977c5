"""Checks of all operations together: unique ids and paths, annotations, and similar names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcpgen.ir.api import SAFE_METHODS
from mcpgen.jsonschema.types import JsonObject
from mcpgen.openapi.lower.operations import RawOperation, follow, operations, value_at
from mcpgen.openapi.validate.findings import Findings
from mcpgen.openapi.validate.texts import lookalike_scripts
from mcpgen.text.json_pointer import json_pointer

_TEMPLATE = re.compile(r"\{[^{}]*\}")


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
        plain = _TEMPLATE.sub("{}", operation.path)
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
                help="mcpgen derives annotations from the method; set others in mcpgen.yaml",
            )


def _check_names(found: list[RawOperation], findings: Findings) -> None:
    """Warn about identifiers that mix scripts with similar letters."""
    for tokens, name in _identifiers(found, findings.document.root):
        scripts = lookalike_scripts(name)
        if len(scripts) > 1:
            findings.warn(
                "mixed-script",
                f"the name {name!a} mixes {' and '.join(sorted(scripts))} letters",
                tokens,
                why="it may look identical to another name",
                help="use letters of one script",
            )


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
        named = value_at(root, tokens)
        for name in named if isinstance(named, dict) else ():
            yield (*tokens, name), name

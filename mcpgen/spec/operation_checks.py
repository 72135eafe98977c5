"""What OpenAPI demands of operations together, and no schema can say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcpgen.ir.api import SAFE_METHODS
from mcpgen.ir.json_pointer import json_pointer
from mcpgen.ir.json_types import JsonObject
from mcpgen.spec.findings import Findings
from mcpgen.spec.operations import RawOperation, follow, operations, value_at
from mcpgen.spec.text_checks import lookalike_scripts

_TEMPLATE = re.compile(r"\{[^{}]*\}")


def check_operations(findings: Findings) -> None:
    """Check that there are operations, and their ids, paths, annotations and names."""
    found = list(operations(findings.document.root))
    if not found and not findings.problems.has_errors:
        findings.problems.error(
            "no-operations",
            "the document describes no operation",
            at=findings.at(("paths",)),
            why="each operation under `paths` becomes a tool; webhooks and callbacks are requests "
            "that the API makes, not requests that it takes",
            help="name the document that holds the API's `paths`",
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
            continue  # or one path item stands under two paths
        place = (*known.tokens, "operationId")
        findings.problems.error(
            "duplicate-operation-id",
            f"the operationId `{name}` of `{operation.key}` is that of `{known.key}` too "
            f"({findings.at(place)}, {json_pointer(place)})",
            at=findings.at((*operation.tokens, "operationId")),
            why="names of tools are made from it, and must not move from one to the other",
            help="give each operation an id of its own, or none",
        )


def _check_paths(found: list[RawOperation], findings: Findings) -> None:
    seen: dict[tuple[str, str], str] = {}
    for operation in found:
        plain = _TEMPLATE.sub("{}", operation.path)
        other = seen.setdefault((operation.method, plain), operation.path)
        if other != operation.path:
            findings.warn(
                "equivalent-paths",
                f"`{operation.key}` and `{operation.method} {other}` are the same requests",
                ("paths", operation.path),
                why="names of parameters do not tell paths apart, and OpenAPI allows one of them",
                help="join them under one path",
            )


def _check_annotations(operation: RawOperation, findings: Findings) -> None:
    """Warn where the document calls harmless what its method does not."""
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
                f"the document says `{hint}: {str(claim).lower()}` of `{operation.key}`",
                (*operation.tokens, "x-mcp", "annotations", hint),
                why="clients may run what is said to be harmless without asking anybody",
                help="annotations follow the method; others belong in your own manifest",
            )


def _check_names(found: list[RawOperation], findings: Findings) -> None:
    """Warn of identifiers that mix scripts whose letters look alike."""
    for tokens, name in _identifiers(found, findings.document.root):
        scripts = lookalike_scripts(name)
        if len(scripts) > 1:
            findings.warn(
                "mixed-script",
                f"the name {name!a} mixes {' and '.join(sorted(scripts))} letters",
                tokens,
                why="it may look exactly like another name",
                help="write it in one script",
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

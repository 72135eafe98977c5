"""MCP tool annotations: a table of rules over the method and the verbs of an operation.

Texts of a document are not trusted: they may make a tool look more dangerous than its method does
(RFC 9110, section 9.2), never less. Where the manifest states `server: {trust: own}`, verbs that
only look or add may make it look less dangerous.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import SAFE_METHODS, Operation
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.ir.tool_plan import HINTS, HintReason
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.tools.verb_classes import ATTACHING, EACH_TIME, Deed
from mcpgen.plan.tools.verb_evidence import Evidence, collect_evidence


class _Rule(Struct, frozen=True):
    """The hints that are decided where one kind of evidence is found."""

    id: str
    methods: Collection[str]  # "safe", "put", "delete", "other"
    basis: str  # "raised", "lowered", "repeats" or "method"
    deed: Deed | None  # of the evidence; None for any
    hints: Mapping[str, bool]
    effect: str = ""  # as in the keys of the manifest
    why: str = ""  # the evidence, if it is neither a verb nor the method


_ALL = ("safe", "put", "delete", "other")


def _state(*, reads: bool, destroys: bool, repeats_safely: bool) -> Mapping[str, bool]:
    values = (reads, destroys, repeats_safely)
    return dict(zip(HINTS, values, strict=False))


_DANGEROUS = _state(reads=False, destroys=True, repeats_safely=False)
_HARMLESS = _state(reads=True, destroys=False, repeats_safely=True)
_REPLACES = _state(reads=False, destroys=True, repeats_safely=True)

RULES = (
    _Rule("verb-ends", ("safe", "other"), "raised", Deed.END, _DANGEROUS, "destructive"),
    _Rule("verb-changes", ("safe",), "raised", Deed.CHANGE, _DANGEROUS, "write"),
    _Rule("own-looks", ("put", "other"), "lowered", Deed.LOOK, _HARMLESS, "read"),
    _Rule("own-adds", ("safe", "put", "other"), "lowered", Deed.ADD,
          {"readOnlyHint": False, "destructiveHint": False}, "write"),
    _Rule("verb-adds", ("safe",), "raised", Deed.ADD, _DANGEROUS, "write"),
    _Rule("verb-repeats", ("put",), "repeats", None, {"idempotentHint": False}),
    _Rule("method-safe", ("safe",), "method", None, _HARMLESS, "read"),
    _Rule("method-delete", ("delete",), "method", None, _REPLACES, "destructive"),
    _Rule("method-put", ("put",), "method", None, _REPLACES, "destructive"),
    _Rule("method-other", ("other",), "method", None, _DANGEROUS, "write"),
    _Rule("open-world", _ALL, "method", None, {"openWorldHint": True}, why="the tool calls an API"),
)  # fmt: skip
"""The first rule that states a hint, and the first that states an effect, decides it."""


class Decision(Struct):
    """The hints of an operation, each with its reason, and its effect."""

    hints: dict[str, bool] = field(default_factory=dict)
    reasons: dict[str, HintReason] = field(default_factory=dict)
    effect: str = ""  # "read", "write" or "destructive"


def decide_hints(operation: Operation, *, is_trusted: bool) -> Decision:
    """Return the four hints of an operation; `is_trusted` if its document is the owner's own."""
    found = collect_evidence(operation)
    kind = _classify_method(operation.method)
    raised = find_danger(found)
    facts = {
        "raised": raised,
        "lowered": _find_harmless(operation, found, raised) if is_trusted else None,
        "repeats": next((it for it in found if it.is_certain and it.verb in EACH_TIME), None),
    }
    decision = Decision()
    for rule in RULES:
        evidence = facts.get(rule.basis)
        is_met = rule.basis == "method" or (
            evidence is not None and rule.deed in (None, evidence.deed)
        )
        if kind not in rule.methods or not is_met:
            continue
        reason = evidence.describe() if evidence else rule.why or f"the method {operation.method}"
        for hint, value in rule.hints.items():
            if hint not in decision.hints:
                decision.hints[hint] = value
                decision.reasons[hint] = HintReason(rule.id, reason)
        decision.effect = decision.effect or rule.effect
    return decision


def _classify_method(method: str) -> str:
    if method in SAFE_METHODS:
        return "safe"
    return method.lower() if method in ("PUT", "DELETE") else "other"


def find_danger(found: Sequence[Evidence]) -> Evidence | None:
    """Return the evidence of the most dangerous deed that is more than looking.

    A verb counts if it cannot be a noun, or if a second source states the same verb. What a text
    adds, it may add to an answer ("Create a report of"), so that needs a second source too.
    """
    counted = [
        it
        for it in found
        if it.deed is not Deed.LOOK
        and (
            (it.is_certain and not (it.is_prose and it.deed is Deed.ADD))
            or any(_agree(it, other) for other in found)
        )
    ]
    return max(counted, key=lambda it: it.deed, default=None)


def _agree(one: Evidence, other: Evidence) -> bool:
    """Return whether two sources state the same verb, at least one of them as a verb."""
    are_both_prose = one.is_prose and other.is_prose
    if one is other or one.verb != other.verb or are_both_prose:
        return False
    return one.is_prose or other.is_prose or one.is_first or other.is_first


def _find_harmless(
    operation: Operation, found: Sequence[Evidence], raised: Evidence | None
) -> Evidence | None:
    """Return the evidence that a call only looks or adds; None if anything contradicts it.

    A GET needs as much evidence of an addition as in a document that is not trusted, and prose
    alone does not turn a request that makes something into one that looks ("Render it again").
    """
    kind = _classify_method(operation.method)
    if kind == "safe" and raised is None:
        return None
    certain = [it for it in found if it.is_certain or it.is_first]
    worst = max((it.worst for it in certain), default=Deed.LOOK)
    if raised is not None:
        worst = max(worst, raised.deed)
    if worst is Deed.LOOK:
        looks = next(iter(certain), None)
        return None if looks and looks.is_prose and _makes_something(operation) else looks
    if worst is Deed.ADD:
        of_kind = (it for it in certain if it.deed is Deed.ADD)
        return next((it for it in of_kind if kind != "put" or it.verb in ATTACHING), None)
    return None


def _makes_something(operation: Operation) -> bool:
    """Return whether success is always 201 or 202 (RFC 9110, section 15.3)."""
    successes = {it.status for it in operation.responses if it.status.startswith("2")}
    return bool(successes) and successes <= {"201", "202"}


def plan_annotations(decision: Decision, title: str, entry: OperationEntry) -> JsonObject:
    """Return the annotations of a tool; the manifest's hints win over those of the rules."""
    return {"title": title, **decision.hints, **(msgspec.to_builtins(entry.annotations) or {})}


def choose_effect(decision: Decision, entry: OperationEntry) -> str:
    """Return "read", "write" or "destructive": by the hints of the manifest, or by the rules."""
    stated = entry.annotations
    if stated is None:
        return decision.effect
    reads = decision.hints["readOnlyHint"] if stated.read_only is None else stated.read_only
    if reads:
        return "read"
    if stated.destructive is not None:
        return "destructive" if stated.destructive else "write"
    return decision.effect if decision.effect != "read" else "write"


def is_repeatable(operation: Operation, effect: str) -> bool:
    """Return whether a call of this effect may be sent once more, for another page of a list.

    A GET may be, unless something states that it removes or ends something.
    """
    return effect == "read" or (operation.method == "GET" and not ends_something(operation))


def ends_something(operation: Operation) -> bool:
    """Return whether a call removes or ends something, by its method or its texts."""
    danger = find_danger(collect_evidence(operation))
    return operation.method == "DELETE" or (danger is not None and danger.deed is Deed.END)


_CLAIM = re.compile(
    r"\b(?:call|endpoint|method|operation|request|tool)\s+(?:is|are)\s+(?:safe|read[- ]only)\b"
    r"|\bread[- ]only\s+(?:call|endpoint|method|operation|request|tool)\b"
    r"|\b(?:has no|without)\s+side[- ]effects?\b"
    r"|\A\W*read[- ]only\W+(?:and\s+)?(?:lookup|query|search)\b",
    re.IGNORECASE,
)


def report_contradiction(operation: Operation, entry: OperationEntry, problems: Problems) -> None:
    """Report texts that contradict the method, unless the manifest states `readOnlyHint`."""
    if entry.annotations is not None and entry.annotations.read_only is not None:
        return
    danger = find_danger(collect_evidence(operation))
    claims = operation.extensions.get("x-mcp-annotations")
    is_claimed_safe = isinstance(claims, dict) and claims.get("readOnlyHint") is True
    if operation.method in SAFE_METHODS:
        if danger is not None:
            problems.warning(
                "annotation-contradiction",
                f"`{operation.key}` is not read-only: {danger.describe()}",
                at=operation.at,
                why=f"a {operation.method} should change nothing, but clients call read-only tools "
                "without asking",
                help="where it changes nothing, state `annotations: {readOnlyHint: true}` for it "
                "in mcpgen.yaml",
            )
    elif is_claimed_safe or _CLAIM.search(operation.summary or operation.description):
        problems.warning(
            "annotation-contradiction",
            f"`{operation.key}` is described as read-only, and {operation.method} says otherwise",
            at=operation.at,
            why="texts of a document never make a tool look more harmless",
            help="where the text is right, state `annotations: {readOnlyHint: true}` for it in "
            "mcpgen.yaml",
        )

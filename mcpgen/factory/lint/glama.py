"""The stages of Glama's Tool Definition Quality Score (TDQS 1.1) that need no language model.

Source: the specification in the repository `glama-ai/tool-definition-quality-score`. Stage 3, in
which a model rates each description from 1 to 5, is not computed. The scores here are the highest
that stage 3 could still give after the hard gates, so they are upper bounds of the published ones.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.client_checks import read_text
from mcpgen.jsonschema.types import JsonObject, JsonValue

WEIGHTS: Final[Mapping[str, float]] = {
    "purpose_clarity": 0.25,
    "usage_guidelines": 0.2,
    "behavioral_transparency": 0.2,
    "parameter_semantics": 0.15,
    "conciseness_structure": 0.1,
    "contextual_completeness": 0.1,
}
_BEST, _TAUTOLOGY_CAP, _WORST = 5, 2, 1
_MAX_DEPTH: Final = 10
_MAX_NODES: Final = 10_000  # of one schema, so that no schema takes long
_MAX_NESTING: Final = 100
_TIERS: Final = ((3.5, "A"), (3.0, "B"), (2.0, "C"), (1.0, "D"))


class Signals(Struct, frozen=True):
    """The context signals of one tool (stage 1)."""

    parameters: int
    required_parameters: int
    description_coverage: int  # percent
    required_fields: int  # in the required part of the schema, at any depth
    schema_depth: int
    union_choices: int
    has_output_schema: bool
    has_annotations: bool
    title_is_meaningful: bool
    input_hash: str  # 16 hexadecimal digits

    @property
    def invocation_cost(self) -> int:
        """Estimated work of a minimal call."""
        return self.required_fields + 2 * max(0, self.schema_depth - 1) + 2 * self.union_choices


class ToolGrade(Struct, frozen=True):
    """Result of the deterministic stages for one tool."""

    name: str
    signals: Signals
    flags: tuple[str, ...]  # "No Description", "Tautological Description"
    highest: float  # score that stage 3 could give

    @property
    def tier(self) -> str:
        """The letter of the highest score."""
        return find_tier(self.highest)


class ShadowCandidate(Struct, frozen=True):
    """A tool, and a much cheaper one that may answer the same question."""

    tool: str
    cost: int
    cheaper: str
    cheaper_cost: int


class ServerGrade(Struct, frozen=True):
    """Result of the deterministic stages for a server."""

    tools: tuple[ToolGrade, ...]
    tool_count: int  # rating of the number of tools, 1 to 5
    description_quality: float
    coherence: float
    overall: float
    candidates: tuple[ShadowCandidate, ...]

    @property
    def tier(self) -> str:
        """The letter of the highest overall score."""
        return find_tier(self.overall)


def grade_server(listing: Listing) -> ServerGrade | None:
    """Grade the listed tools; None if there are none."""
    grades = tuple(grade_tool(tool) for tool in listing.tools)
    if not grades:
        return None
    scores = [grade.highest for grade in grades]
    quality = _round(0.6 * sum(scores) / len(scores) + 0.4 * min(scores))
    count = rate_tool_count(len(grades))
    coherence = _round((3 * _BEST + count) / 4)
    overall = _round(0.7 * quality + 0.3 * coherence)
    return ServerGrade(
        grades, count, quality, coherence, overall, tuple(find_shadow_candidates(grades))
    )


def grade_tool(tool: JsonObject) -> ToolGrade:
    """Apply the hard gates (stage 2) and the weights to one tool."""
    description = read_text(tool, "description").strip()
    flags: tuple[str, ...] = ()
    highest = float(_BEST)
    names = (read_text(tool, "name").lower(), read_text(tool, "title").strip().lower())
    if not description:
        flags, highest = ("No Description",), float(_WORST)
    elif description.lower() in names:
        flags = ("Tautological Description",)
        highest = _round(_BEST - WEIGHTS["purpose_clarity"] * (_BEST - _TAUTOLOGY_CAP))
    return ToolGrade(read_text(tool, "name"), read_signals(tool), flags, highest)


def find_tier(score: float) -> str:
    """Return the letter of a score."""
    return next((letter for least, letter in _TIERS if score >= least), "F")


def rate_tool_count(count: int) -> int:
    """Rate the number of tools by the anchors of the specification: 3 to 15 are best."""
    if count >= 50:
        return 1
    if count > 25 or count == 1:
        return 2
    if count > 15 or count == 2:
        return 3
    return 5


def _round(value: float) -> float:
    """Round to one decimal, halves up, as JavaScript's `Math.round` does."""
    return math.floor(value * 10 + 0.5) / 10


def read_signals(tool: JsonObject) -> Signals:
    """Compute the context signals of a tool."""
    schema = tool.get("inputSchema")
    root = schema if isinstance(schema, dict) else {}
    properties = root.get("properties")
    members = properties if isinstance(properties, dict) else {}
    described = sum(
        isinstance(each, dict) and bool(read_text(each, "description").strip())
        for each in members.values()
    )
    required = root.get("required")
    cost = _Cost(root)
    fields, depth, unions = cost.measure(root, 1) if members else (0, 0, 0)
    title, name = read_text(tool, "title"), read_text(tool, "name")
    return Signals(
        parameters=len(members),
        required_parameters=len(required) if isinstance(required, list) else 0,
        description_coverage=math.floor(described / len(members) * 100 + 0.5) if members else 100,
        required_fields=fields,
        schema_depth=depth,
        union_choices=unions,
        has_output_schema=bool(tool.get("outputSchema")),
        has_annotations=bool(tool.get("annotations")),
        title_is_meaningful=bool(title) and title != name and len(title) > len(name),
        input_hash=_hash_definition(tool),
    )


def _hash_definition(tool: JsonObject) -> str:
    """Hash a definition. The serialization is ours: the specification does not fix one."""
    keys = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    own = {key: tool.get(key) for key in keys}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _Cost:
    """Measures the required part of one schema: fields, depth and union choices."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._left = _MAX_NODES
        self._nesting = 0

    def measure(
        self, schema: JsonValue, level: int, visited: frozenset[str] = frozenset()
    ) -> tuple[int, int, int]:
        """Return required fields, depth and union choices below a schema at a level."""
        self._left -= 1
        is_bounded = level <= _MAX_DEPTH and self._left > 0 and self._nesting < _MAX_NESTING
        if not isinstance(schema, dict) or not is_bounded:
            return 0, min(level - 1, _MAX_DEPTH), 0
        self._nesting += 1
        found = self._measure(schema, level, visited)
        self._nesting -= 1
        return found

    def _measure(
        self, schema: JsonObject, level: int, visited: frozenset[str]
    ) -> tuple[int, int, int]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in visited:
                return 0, level - 1, 0
            return self.measure(self._resolve(reference), level, visited | {reference})
        fields, depth, unions = self._measure_properties(schema, level, visited)
        items = schema.get("items")
        if isinstance(items, dict):
            fields, depth, unions = _add(
                (fields, depth, unions), self.measure(items, level, visited)
            )
        for keyword in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list):
                found = self._measure_branches(keyword, branches, level, visited)
                fields, depth, unions = _add((fields, depth, unions), found)
        return fields, depth, unions

    def _measure_properties(
        self, schema: JsonObject, level: int, visited: frozenset[str]
    ) -> tuple[int, int, int]:
        properties, required = schema.get("properties"), schema.get("required")
        members = properties if isinstance(properties, dict) else {}
        stated = required if isinstance(required, list) else ()
        names = {name for name in stated if isinstance(name, str)}
        total = (len(names & members.keys()), level if members else level - 1, 0)
        for name in sorted(names & members.keys()):
            total = _add(total, self.measure(members[name], level + 1, visited))
        return total

    def _measure_branches(
        self, keyword: str, branches: Sequence[JsonValue], level: int, visited: frozenset[str]
    ) -> tuple[int, int, int]:
        found = [self.measure(branch, level, visited) for branch in branches]
        depth = max((each[1] for each in found), default=level - 1)
        if keyword == "allOf":
            return sum(each[0] for each in found), depth, sum(each[2] for each in found)
        real = [branch for branch in branches if branch != {"type": "null"}]
        choices = len(branches) - 1 if len(real) > 1 else 0
        widest = max((each[0] for each in found), default=0)
        return widest, depth, choices + sum(each[2] for each in found)

    def _resolve(self, reference: str) -> JsonValue:
        for prefix in ("#/$defs/", "#/definitions/"):
            if reference.startswith(prefix):
                definitions = self._root.get(prefix[2:-1])
                if isinstance(definitions, dict):
                    return definitions.get(reference.removeprefix(prefix))
        return None


def _add(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0] + other[0], max(one[1], other[1]), one[2] + other[2]


def find_shadow_candidates(grades: Sequence[ToolGrade]) -> list[ShadowCandidate]:
    """Return, for each tool, the most expensive sibling that is much cheaper to call.

    They are candidates: only a model, or a human, can judge whether their purposes overlap.
    """
    candidates = []
    for grade in grades:
        cost = grade.signals.invocation_cost
        cheaper = [
            each
            for each in grades
            if each is not grade
            and cost >= 2 * each.signals.invocation_cost
            and cost - each.signals.invocation_cost >= 4
        ]
        if cheaper:
            dearest = max(cheaper, key=lambda each: each.signals.invocation_cost)
            candidates.append(
                ShadowCandidate(grade.name, cost, dearest.name, dearest.signals.invocation_cost)
            )
    return candidates


def format_grade_json(grade: ServerGrade) -> dict[str, Any]:
    """Return the grade as JSON."""
    return {
        "specification": "glama-ai/tool-definition-quality-score 1.1, stages 1, 2 and 4",
        "tier": grade.tier,
        "highest_overall": grade.overall,
        "highest_description_quality": grade.description_quality,
        "highest_coherence": grade.coherence,
        "tool_count_rating": grade.tool_count,
        "shadow_candidates": [
            {
                "tool": each.tool,
                "invocation_cost": each.cost,
                "cheaper": each.cheaper,
                "cheaper_invocation_cost": each.cheaper_cost,
            }
            for each in grade.candidates
        ],
    }

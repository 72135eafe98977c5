"""The right tool is among the first five, for questions that were written before the ranking."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.stages import plan_server, understand
from mcpgen.plan.policy import first_policy
from mcpgen.render import contracts, json_text
from mcpgen.runtime.tool_index import ToolIndex
from tests.conformance.running import CACHE, ROOT, installed

QUERIES = Path(__file__).with_name("queries.tsv")
OCTOKIT = CACHE / "node" / "node_modules" / "@octokit" / "openapi" / "generated"
LEAST_HITS = 0.9
FIRST = 5


def planned(document: str) -> ServerPlan:
    """Plan the server of one of the documents that are asked about."""
    source = ROOT / "specs" / "chatdesk.yaml"
    if document == "github":
        source = installed(OCTOKIT / "api.github.com.json", "peers")
    problems = Problems()
    api = understand(str(source), problems, lambda _: None, outside_judge=False).api
    return plan_server(api, first_policy(document, models=False), problems, strict=False)


def questions(document: str) -> list[tuple[str, str]]:
    """Each question to an API, and the operation that answers it."""
    with QUERIES.open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [(row["query"], row["operation"]) for row in rows if row["document"] == document]


@pytest.mark.parametrize(("document", "count"), [("github", 50), ("chatdesk", 15)])
def test_the_right_tool_is_among_the_first_five(document: str, count: int) -> None:
    plan = planned(document)
    assert plan.search is not None
    assert plan.search.token_cost < plan.budget < plan.token_cost
    index = ToolIndex.from_lines(json_text.lines(contracts.search_index(plan.search)))

    asked = questions(document)
    assert len(asked) == count
    assert {operation for _, operation in asked} <= {tool.operation.key for tool in plan.tools}
    missed = [
        query
        for query, operation in asked
        if operation not in [entry.operation for entry in index.search(query)[:FIRST]]
    ]
    assert len(asked) - len(missed) >= count * LEAST_HITS, json.dumps(missed, indent=2)

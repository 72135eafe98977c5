"""Tests that a right tool is among the first five results, for the question sets in `queries.tsv`.

All but `held` are development data by now: the ranking was made to do well on them, and its weights
were chosen by cross validation over them. `first` was written before there was a ranking;
`documentation` and `unseen` from the pages of GitHub's documentation; the `drawn` sets for
operations drawn at random, with names and numbers as people give them. When the ranking met them
first it found 70 % of `documentation`, 82 % of `unseen` and 73 % of `drawn`; while it was made
anew, 75 % of the first 60 of `drawn_again`, 86 % of the last 50, and 88 % of `drawn_last`. That is
what to expect of questions that nobody has looked at; what is demanded here is what it finds by
now.

`held` was written by somebody who had not seen the ranking or the other questions, for operations
drawn at random, mostly from GitHub's documentation, and kept shut until the ranking was done. It
was asked once, and found 55 of 60 (92 %). Nothing may be tuned on it.

The ranking was then made to do well on other APIs (`tests/search_questions`), with words of results
and a lexicon. Of these sets together it has found 692 of 747 since, and 698 before.
"""

from __future__ import annotations

import json

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.plan.tools.search_index import make_index
from mcpgen.render import contracts, json_text
from mcpgen.search.index import ToolIndex
from tests.support.paths import SPECS
from tests.support.policies import first_policy
from tests.support.questions import FOUND, OCTOKIT, questions
from tests.support.running_server import installed

FIRST = 5


def planned(document: str) -> ServerPlan:
    """Plan the server of one of the documents in the question sets."""
    source = SPECS / "chatdesk.yaml"
    if document == "github":
        source = installed(OCTOKIT / "api.github.com.json", "peers")
    problems = Problems()
    options = BuildOptions(external_validator=False)
    api = parse_source(str(source), options, problems, lambda _: None).api
    return plan_server(
        api, first_policy(document, models=False), problems, lambda _: None, strict=False
    )


@pytest.mark.parametrize("document", ["github", "chatdesk"])
def test_the_right_tool_is_among_the_first_five(document: str) -> None:
    plan = planned(document)
    assert plan.search is not None
    assert plan.search.token_cost < plan.budget < plan.token_cost
    made = make_index(plan)
    assert made is not None
    index = ToolIndex.from_lines(json_text.lines(contracts.search_index(made)))
    known = {tool.operation.key for tool in plan.tools}

    for name, count, least in [
        (name, *counts) for (name, api), counts in FOUND.items() if api == document
    ]:
        asked = questions(name, document)
        assert len(asked) == count
        assert known.issuperset(key for _, operations in asked for key in operations)
        missed = [
            query
            for query, operations in asked
            if known.intersection(operations).isdisjoint(
                entry.operation for entry in index.search(query)[:FIRST]
            )
        ]
        assert count - len(missed) >= least, f"{name}: {json.dumps(missed, indent=2)}"

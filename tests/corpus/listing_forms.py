"""Count the tokens of listings by form: `python -m tests.corpus.listing_forms [NAME_PART ...]`.

It plans GitHub's document, if `make peers` has installed it, and the named documents of the corpus
in the form of servers whose lock records none and in that of new servers, and prints a table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.factory.tool_costs import measure_tool
from mcpgen.ir.api import Api
from mcpgen.ir.listing_form import NEW_SERVERS, ListingForm
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.plan.plan import plan_tools
from mcpgen.render.contracts import list_tools
from tests.support.corpus import corpus_documents
from tests.support.policies import first_policy
from tests.support.questions import OCTOKIT

_HEAD = "| document | tools | form | tokens | input schemas | output schemas | largest output |"


def main() -> None:
    """Print one row for each document and form."""
    print(_HEAD, "|---|--:|---|--:|--:|--:|--:|", sep="\n")
    for name, path in _find_documents(sys.argv[1:]):
        options = BuildOptions(external_validator=False)
        api = parse_source(str(path), options, Problems(), lambda _: None).api
        for what, form in (("before", ListingForm()), ("new", NEW_SERVERS)):
            print(f"| {name} | {_describe(api, what, form)} |", flush=True)


def _find_documents(parts: Iterable[str]) -> Iterator[tuple[str, Path]]:
    github = OCTOKIT / "api.github.com.json"
    if github.exists():
        yield "GitHub", github
    for document in corpus_documents():
        if any(part in document.name for part in parts):
            yield document.name, document.path


def _describe(api: Api, what: str, form: ListingForm) -> str:
    plan = plan_tools(api, replace(first_policy("shop"), form=form), Problems())
    costs = [measure_tool(tool) for tool in list_tools(plan)]
    sums = (
        sum(it.tokens for it in costs),
        sum(it.input_schema for it in costs),
        sum(it.output_schema for it in costs),
        max((it.output_schema for it in costs), default=0),
    )
    return " | ".join([str(len(costs)), what, *(f"{number:,}" for number in sums)])


if __name__ == "__main__":
    main()

"""Rendering of the files below `_generated/` and `tests/generated/` of a package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mcpgen.contract.snapshot import find_contradicting_hints, snapshot_entry
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.render import contracts, json_text
from mcpgen.render.environment import code_environment
from mcpgen.render.upstream_file import upstream_file
from mcpgen.render.views import calls_module, handler_module, package_view, tests_view
from mcpgen.render.workflow_views import workflows_module
from mcpgen.search.index import Entry
from mcpgen.text.identifiers import safe_filename


def render(plan: ServerPlan) -> FileSet:
    """Write out what is generated from the plan alone: not models, test cases, search index."""
    package = f"src/{plan.package}/_generated"
    texts = {
        f"{package}/__init__.py": _template("_generated/__init__.py", package=package_view(plan)),
    }
    listing = contracts.list_tools(plan)
    data = {
        f"{package}/contract.json": json_text.pretty(contracts.server_contract(plan)),
        f"{package}/listing.json": json_text.wrap_tools(listing),
    }
    if plan.resources or plan.prompts:
        for kind, declared in (("resources", plan.resources), ("prompts", plan.prompts)):
            contract = contracts.make_declared_contract(declared)
            data[f"{package}/{kind}.json"] = json_text.pretty(contract)
    if plan.has_document:
        _add_tools(plan, listing, texts, data)
        if plan.workflows:
            _add_workflows(plan, texts, data)
    else:
        texts["tests/generated/test_server.py"] = _template(
            "tests/generated/test_server.py", tests=tests_view(plan)
        )
    return _make_files(data | {path: text.encode() for path, text in texts.items()})


def render_calls(plan: ServerPlan) -> FileSet:
    """Write out the types of calls that the user's code names; nothing if it names none."""
    module = calls_module(plan)
    if module is None:
        return ()
    text = _template("_generated/calls.py", module=module)
    return _make_files({f"src/{plan.package}/_generated/calls.py": text.encode()})


def render_cases(
    plan: ServerPlan, cases: Iterable[bytes], workflow_cases: Iterable[bytes]
) -> FileSet:
    """Write out what the generated tests try: the cases of each tool and of each workflow.

    Each is given as `json_text.block` encodes it.
    """
    data = {}
    if plan.has_document:
        data["tests/generated/cases.json"] = json_text.array_of(cases)
    if plan.workflows:
        data["tests/generated/workflows.json"] = json_text.array_of(workflow_cases)
    return _make_files(data)


def render_index(plan: ServerPlan, entries: Sequence[Entry]) -> FileSet:
    """Write out what the tools are found by; nothing where there are no entries."""
    if not entries:
        return ()
    path = f"src/{plan.package}/_generated/search_index.jsonl"
    return _make_files({path: json_text.lines(contracts.search_index(entries))})


def _make_files(contents: Mapping[str, bytes]) -> FileSet:
    return tuple(
        PlannedFile(path, content, Owner.GENERATED) for path, content in sorted(contents.items())
    )


def _add_tools(
    plan: ServerPlan, listing: Sequence[JsonObject], texts: dict[str, str], data: dict[str, bytes]
) -> None:
    """Add what only a server has that calls an API."""
    package = f"src/{plan.package}/_generated"
    texts |= {
        f"{package}/tools/__init__.py": _template(
            "_generated/tools/__init__.py", package=package_view(plan)
        ),
        "tests/generated/test_tools.py": _template(
            "tests/generated/test_tools.py", tests=tests_view(plan)
        ),
    }
    data |= {
        "tests/generated/tools.json": json_text.entry_a_line({"tools": _snapshot(plan, listing)}),
        "tests/generated/upstream.json": json_text.entry_a_line(upstream_file(plan.api)),
    }
    data[f"{package}/toolsets.json"] = json_text.pretty(contracts.toolsets(plan))
    if plan.search is not None:
        listed = contracts.search_listing(plan, plan.search)
        data[f"{package}/search_listing.json"] = json_text.wrap_tools(listed)
    for group in plan.groups:
        module = safe_filename(f"{group.module}.py").removesuffix(".py")
        texts[f"{package}/tools/{module}.py"] = _template(
            "_generated/tools/group.py", module=handler_module(plan, group)
        )
        contract = contracts.group_contract(plan, group)
        data[f"{package}/tools/{module}.json"] = json_text.wrap(contract)


def _add_workflows(plan: ServerPlan, texts: dict[str, str], data: dict[str, bytes]) -> None:
    """Add what only a server has whose manifest has workflows."""
    package = f"src/{plan.package}/_generated"
    texts |= {
        f"{package}/workflows.py": _template(
            "_generated/workflows.py", module=workflows_module(plan)
        ),
        "tests/generated/test_workflows.py": _template(
            "tests/generated/test_workflows.py", tests=tests_view(plan)
        ),
    }
    data[f"{package}/workflows.json"] = json_text.wrap(contracts.workflows_contract(plan))


def _snapshot(plan: ServerPlan, listing: Iterable[JsonObject]) -> list[JsonObject]:
    """Every tool as it is listed; `departs` are the annotations that a manifest decided."""
    methods = {tool.name: tool.operation.method for tool in plan.tools}
    entries = []
    # As a server reads them: text that is no Unicode has been replaced by then.
    for listed in map(msgspec.json.decode, map(json_text.compact, listing)):
        entry = snapshot_entry(listed)
        if listed["name"] in methods:
            departing = find_contradicting_hints(methods[listed["name"]], entry["annotations"])
            entry |= {"departs": departing} if departing else {}
        entries.append(entry)
    return entries


def _template(path: str, **view: Any) -> str:
    return code_environment().get_template(f"{path}.jinja").render(**view)

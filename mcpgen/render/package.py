"""Rendering of the files below `_generated/` and `tests/generated/` of a package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mcpgen.contract.code_mode import STUBS_FILE
from mcpgen.contract.snapshot import find_contradicting_hints, snapshot_entry
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.render import contracts, json_text
from mcpgen.render.environment import code_environment
from mcpgen.render.stubs import render_stubs
from mcpgen.render.upstream_file import upstream_file
from mcpgen.render.views import calls_module, handler_module, package_view, tests_view
from mcpgen.render.workflow_views import workflows_module
from mcpgen.text.identifiers import safe_filename

if TYPE_CHECKING:  # the process that renders the tools makes no index
    from mcpgen.search.index import SearchIndex


def render(plan: ServerPlan) -> FileSet:
    """Render the files that depend on the plan alone: not models, test cases, search index."""
    package = f"src/{plan.package}/_generated"
    listing = contracts.list_tools(plan)
    files = _render_template(plan, "_generated/__init__.py", package=package_view(plan))
    files[f"{package}/contract.json"] = json_text.pretty(contracts.server_contract(plan))
    files[f"{package}/listing.json"] = json_text.wrap_tools(listing)
    if plan.resources or plan.prompts:
        for kind, declared in (("resources", plan.resources), ("prompts", plan.prompts)):
            contract = contracts.make_declared_contract(declared)
            files[f"{package}/{kind}.json"] = json_text.pretty(contract)
    if views := contracts.make_views_contract(plan):
        files[f"{package}/views.json"] = json_text.pretty(views)
    if plan.has_document:
        files |= _render_tools(plan, listing)
        if plan.workflows:
            files |= _render_workflows(plan)
        if plan.merged:
            files[f"{package}/merged.json"] = json_text.wrap(contracts.make_merged_contract(plan))
    else:
        files |= _render_template(plan, "tests/generated/test_server.py", tests=tests_view(plan))
    return _make_files(files)


def render_calls(plan: ServerPlan) -> FileSet:
    """Write out the types of calls that the user's code names; nothing if it names none."""
    module = calls_module(plan)
    if module is None:
        return ()
    return _make_files(_render_template(plan, "_generated/calls.py", module=module))


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


def render_index(plan: ServerPlan, index: SearchIndex | None) -> FileSet:
    """Write out what the tools are found by; nothing if all tools are listed."""
    if index is None:
        return ()
    path = f"src/{plan.package}/_generated/search_index.jsonl"
    return _make_files({path: json_text.lines(contracts.search_index(index))})


def _make_files(contents: Mapping[str, bytes]) -> FileSet:
    return tuple(
        PlannedFile(path, content, Owner.GENERATED) for path, content in sorted(contents.items())
    )


def _render_tools(plan: ServerPlan, listing: Sequence[JsonObject]) -> dict[str, bytes]:
    """Write out what only a server has that calls an API."""
    package = f"src/{plan.package}/_generated"
    files = _render_template(plan, "_generated/tools/__init__.py", package=package_view(plan))
    files |= _render_template(plan, "tests/generated/test_tools.py", tests=tests_view(plan))
    files |= {
        "tests/generated/tools.json": json_text.entry_a_line({"tools": _snapshot(plan, listing)}),
        "tests/generated/upstream.json": json_text.entry_a_line(upstream_file(plan.api)),
        f"{package}/toolsets.json": json_text.pretty(contracts.toolsets(plan)),
    }
    if plan.search is not None:
        listed = contracts.search_listing(plan, plan.search)
        files[f"{package}/search_listing.json"] = json_text.wrap_tools(listed)
        if plan.search.run:
            files[f"{package}/{STUBS_FILE}"] = render_stubs(plan, plan.search.run)
    for group in plan.groups:
        module = safe_filename(f"{group.module}.py").removesuffix(".py")
        view = handler_module(plan, group)
        files[f"{package}/tools/{module}.py"] = _fill_in("_generated/tools/group.py", module=view)
        contract = contracts.group_contract(plan, group)
        files[f"{package}/tools/{module}.json"] = json_text.wrap(contract)
    return files


def _render_workflows(plan: ServerPlan) -> dict[str, bytes]:
    """Write out what only a server has whose manifest has workflows."""
    files = _render_template(plan, "_generated/workflows.py", module=workflows_module(plan))
    files |= _render_template(plan, "tests/generated/test_workflows.py", tests=tests_view(plan))
    contract = json_text.wrap(contracts.workflows_contract(plan))
    return {**files, f"src/{plan.package}/_generated/workflows.json": contract}


def _snapshot(plan: ServerPlan, listing: Iterable[JsonObject]) -> list[JsonObject]:
    """Return all tools as listed; `departs` are the annotations that contradict the method."""
    methods = {tool.name: tool.operation.method for tool in plan.tools}
    entries = []
    for listed in listing:
        try:
            entry = snapshot_entry(listed)
        except UnicodeEncodeError:  # as a server reads it: with the text that replaces the invalid
            entry = snapshot_entry(msgspec.json.decode(json_text.compact(listed)))
        if listed["name"] in methods:
            departing = find_contradicting_hints(methods[listed["name"]], entry["annotations"])
            entry |= {"departs": departing} if departing else {}
        entries.append(entry)
    return entries


def _render_template(plan: ServerPlan, template: str, **view: Any) -> dict[str, bytes]:
    """Return the file that has the same place in a project as its template, by its path."""
    path = template if template.startswith("tests/") else f"src/{plan.package}/{template}"
    return {path: _fill_in(template, **view)}


def _fill_in(template: str, **view: Any) -> bytes:
    return code_environment().get_template(f"{template}.jinja").render(**view).encode()

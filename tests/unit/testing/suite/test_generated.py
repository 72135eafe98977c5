"""Tests of the generated tests on a handwritten package: they pass, and fail for any fault."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.render import views
from mcpgen.render.environment import code_environment, literal
from mcpgen.testing.suite.generated import Suite
from tests.support.imports import importing_anew
from tests.support.paths import REPOSITORY, SHOP

HANDLERS = "src/shop_mcp/_generated/tools/items.py"
CONTRACT = "src/shop_mcp/_generated/tools/items.json"
SERVER = "src/shop_mcp/_generated/contract.json"
LISTING = "src/shop_mcp/_generated/listing.jsonl"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Copy the package, so that faults can be inserted."""
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


@pytest.fixture(autouse=True)
def _imports_are_forgotten() -> Iterator[None]:
    path = list(sys.path)
    with importing_anew("shop_mcp"):
        yield
    sys.path[:] = path


def failures(project: Path) -> list[str]:
    """Return the messages of failing tests, as the generated module would report them."""
    sys.path.insert(0, str(project / "src"))
    importlib.invalidate_caches()
    suite = Suite("shop_mcp", project / "tests" / "generated")
    tests: list[Callable[[], None]] = [
        *(lambda case=case: suite.run(case) for case in suite.cases),  # type: ignore[misc]
        suite.check_tool_list,
        suite.check_operations,
        suite.check_docstrings,
        suite.check_cases,
        suite.check_snapshot,
        suite.check_annotations,
        suite.check_handlers,
    ]
    found = []
    for test in tests:
        try:
            test()
        except (Exception, SyntaxError) as error:  # noqa: BLE001  (as pytest does)
            found.append(str(error))
    return found


def test_an_unchanged_package_passes(shop: Path) -> None:
    assert failures(shop) == []


def handler_lines() -> list[Any]:
    """Return each line of each handler that is not blank, by number."""
    text = (SHOP / HANDLERS).read_text()
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.AsyncFunctionDef):
            first = min(decorator.lineno for decorator in node.decorator_list)
            for number in range(first, (node.end_lineno or first) + 1):
                shown = text.splitlines()[number - 1].strip()
                found.append(pytest.param(number, id=f"{node.name}:{number}:{shown[:40]}"))
    return found


@pytest.mark.parametrize("number", handler_lines())
def test_deleting_a_line_of_a_handler_fails(shop: Path, number: int) -> None:
    handlers = shop / HANDLERS
    lines = handlers.read_text().splitlines(keepends=True)
    del lines[number - 1]
    handlers.write_text("".join(lines))

    assert failures(shop) != []


def in_handlers(old: str, new: str) -> Callable[[Path], None]:
    def put_in(project: Path) -> None:
        path = project / HANDLERS
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return put_in


def in_tool(tool: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def put_in(project: Path) -> None:
        path = project / CONTRACT
        contract = json.loads(path.read_text())
        before = json.dumps(contract)
        change(contract["tools"][tool])
        assert json.dumps(contract) != before
        path.write_text(json.dumps(contract))

    return put_in


def in_server(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def put_in(project: Path) -> None:
        path = project / SERVER
        contract = json.loads(path.read_text())
        before = json.dumps(contract)
        change(contract)
        assert json.dumps(contract) != before
        path.write_text(json.dumps(contract))

    return put_in


def all_of(*faults: Callable[[Path], None]) -> Callable[[Path], None]:
    def put_in(project: Path) -> None:
        for fault in faults:
            fault(project)

    return put_in


def renamed(tool: str, wire_name: str, other: str) -> Callable[[Path], None]:
    """Return a fault: a wrong wire name, in both handler and contract."""

    def change(contract: dict[str, Any]) -> None:
        for parameter in contract["request"]["parameters"]:
            if parameter["name"] == wire_name:
                parameter["name"] = other

    return all_of(in_handlers(f'"{wire_name}": ', f'"{other}": '), in_tool(tool, change))


def travels(tool: str, name: str, **changes: Any) -> Callable[[Path], None]:
    """Return a fault: a parameter that is serialized differently."""

    def change(contract: dict[str, Any]) -> None:
        for parameter in contract["request"]["parameters"]:
            if parameter["name"] == name:
                parameter.update(changes)

    return in_tool(tool, change)


def other_verb(tool: str, old: str, new: str) -> Callable[[Path], None]:
    def change(contract: dict[str, Any]) -> None:
        contract["request"]["method"] = new
        contract["operation"] = contract["operation"].replace(old, new)

    def in_its_handler(project: Path) -> None:
        path = project / HANDLERS
        head, mark, tail = path.read_text().partition(f'@tools.handler("{tool}")')
        tail = tail.replace(f'"{old}"', f'"{new}"', 1).replace(f"`{old} ", f"`{new} ", 1)
        path.write_text(head + mark + tail)

    return all_of(in_tool(tool, change), in_its_handler)


def stubbed(project: Path) -> None:
    path = project / HANDLERS
    text = path.read_text()
    path.write_text(
        re.sub(r"return await ctx\.api\.request\([^@]*?\n    \)\n", "return {}\n", text)
    )


def unlisted(project: Path) -> None:
    path = project / LISTING
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


ASKED = """
    return await ctx.api.request(
        "GET",
        "/maps/{corner}/{area}",
        path_params={"corner": corner, "area": area},
        returns=object,
    )
"""
SWALLOWED = f"""
    try:
        {ASKED.strip()}
    except Exception:
        return "nothing"
"""

FAULTS: dict[str, Callable[[Path], None]] = {
    "wrong verb in the handler": in_handlers('"PUT"', '"POST"'),
    "wrong verb everywhere": other_verb("replace_item", "PUT", "PATCH"),
    "verb of another operation": other_verb("delete_item", "DELETE", "GET"),
    "dropped query parameter": in_handlers('query={"fields": fields},', ""),
    "dropped header": in_handlers('headers={"X-Trace": x_trace},', ""),
    "dropped cookie": in_handlers('cookies={"theme": theme},', ""),
    "dropped body": in_handlers("        body=body,\n        returns", "        returns"),
    "dropped content type": in_handlers("content_type=content_type,", ""),
    "renamed query parameter": renamed("list_items", "tag[]", "tags"),
    "renamed header": renamed("get_item", "X-Trace", "X-Tracing"),
    "renamed cookie": renamed("get_item", "theme", "themes"),
    "swapped parameters": in_handlers(
        '"limit": limit,', '"page": limit, "limit": page,'
    ),
    "constant for an argument": in_handlers('"limit": limit', '"limit": 10'),
    "invented parameter": in_handlers('"page": page,', '"page": page, "limit": page,'),
    "query parameter as header": all_of(
        in_handlers('query={"fields": fields}', 'headers={"fields": fields}'),
        in_handlers('headers={"X-Trace": x_trace}', 'query={"X-Trace": x_trace}'),
        travels("get_item", "fields", **{"in": "header", "style": "simple"}),
        travels("get_item", "X-Trace", **{"in": "query", "style": "form"}),
    ),
    "exploded list": travels("get_item", "fields", explode=True),
    "joined list": travels("list_items", "tag[]", explode=False),
    "joined label": travels("measure", "corner", explode=False),
    "exploded matrix": travels("measure", "area", explode=True),
    "simple for label": travels("measure", "corner", style="simple"),
    "form for deepObject": travels("list_items", "filter", style="form"),
    "pipes for commas": travels("get_item", "fields", style="pipeDelimited"),
    "form field exploded": in_tool(
        "replace_item",
        lambda tool: tool["request"]["body"]["media_types"][1]["encoding"].clear(),
    ),
    "wrong media type": in_tool(
        "add_item",
        lambda tool: tool["request"]["body"]["media_types"][0].update(
            media_type="application/merge-patch+json"
        ),
    ),
    "other default media type": in_tool(
        "replace_item", lambda tool: tool["request"]["body"]["media_types"].reverse()
    ),
    "lost field of the body": in_handlers("body=body", 'body={"name": "Lamp", "price": 0}'),
    "key in the query": in_server(
        lambda server: server["security_schemes"]["key"].update({"in": "query"})
    ),
    "key under another name": in_server(
        lambda server: server["security_schemes"]["key"].update(name="X-Api-Key")
    ),
    "bearer for basic": in_server(
        lambda server: server["security_schemes"]["token"].update(scheme="token")
    ),
    "missing credential": in_tool("get_item", lambda tool: tool["request"].pop("security")),
    "one credential of two": in_tool(
        "replace_item", lambda tool: tool["request"]["security"][0].pop("session")
    ),
    "credential of another scheme": in_tool(
        "delete_item", lambda tool: tool["request"].update(security=[{"key": []}])
    ),
    "credential where none is asked for": in_tool(
        "measure", lambda tool: tool["request"].update(security=[{"key": []}])
    ),
    "credential left out where it is optional": in_tool(
        "list_items", lambda tool: tool["request"].update(security=[{}])
    ),
    "other base path": in_server(
        lambda server: server["servers"][0].update(url="https://eu.shop.example/v2")
    ),
    "other host": in_server(
        lambda server: server["servers"][0].update(url="https://evil.example/v1")
    ),
    "ignored status": in_handlers(ASKED, SWALLOWED),
    "stubs": stubbed,
    "result shortened": in_handlers(
        "return await ctx.api.request(\n        \"POST\"",
        "return {} and await ctx.api.request(\n        \"POST\"",
    ),
    "result under another key": in_tool("list_items", lambda tool: tool.update(result_key="items")),
    "listed unlike the contract": in_tool(
        "get_item", lambda tool: tool["listing"].update(description="Something else.")
    ),
    "tool without a listing": unlisted,
    "docstring of another operation": in_handlers("`GET /items`", "`GET /orders`"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_in_the_package_fails(shop: Path, fault: Callable[[Path], None]) -> None:
    fault(shop)
    ast.parse((shop / HANDLERS).read_text())

    assert failures(shop) != []


def run_module(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the generated module as its owner does, with pytest."""
    tests = project / "tests" / "generated"
    template = code_environment().get_template("tests/generated/test_tools.py.jinja")
    view = views.TestsView(package=literal("shop_mcp"), has_search=False, has_detours=False)
    (tests / "test_tools.py").write_text(template.render(tests=view))
    path = os.pathsep.join([str(project / "src"), str(REPOSITORY)])
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            project,
            tests,
        ],
        env={**os.environ, "PYTHONPATH": path},
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_generated_module_runs_every_case_and_reports_differences(shop: Path) -> None:
    done = run_module(shop)
    assert done.returncode == 0, done.stdout
    assert "32 passed" in done.stdout

    FAULTS["dropped query parameter"](shop)

    done = run_module(shop)
    assert done.returncode == 1
    assert 'query parameter `fields`: not sent, expected ["price", "name"]' in done.stdout


def test_an_untested_case_is_skipped_with_its_reason(shop: Path) -> None:
    cases = shop / "tests" / "generated" / "cases.json"
    entry = {"id": "get_item: result", "tool": "get_item", "untested": "no value satisfies it"}
    cases.write_text(json.dumps([*json.loads(cases.read_text()), entry]))

    done = run_module(shop)

    assert "32 passed, 1 skipped" in done.stdout

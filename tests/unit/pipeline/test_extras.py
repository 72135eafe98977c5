"""Tests of extras of the runtime: features add them to `pyproject.toml`, next to user edits."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.emit.merge.merge import merge
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.new import new_by_hand
from mcpgen.pipeline.options import Report
from tests.support.projects import silent

Regenerate = Callable[..., Report]
CONFIRM = '\noperations:\n  listOrders: {confirm: "Really?"}\n'
ASKING = """
from mcpgen.runtime import Context, override

from pet_shop_mcp._generated.calls import GetOrdersCall


@override("GET /orders")
async def list_orders(ctx: Context, call_next: GetOrdersCall) -> None:
    await ctx.elicit("Really?", {"type": "object", "properties": {}})
    await call_next()
"""


def dependencies(project: Path) -> list[str]:
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    found: list[str] = settings["project"]["dependencies"]
    return found


def contract(project: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        (project / "src/pet_shop_mcp/_generated/contract.json").read_text()
    )
    return found


def append(path: Path, text: str) -> str:
    before = path.read_text()
    path.write_text(before + text)
    return before


def test_confirm_adds_its_extra_and_removing_confirm_removes_it(
    project: Path, regenerate: Regenerate
) -> None:
    assert dependencies(project) == ["mcpgen>=0.6,<0.7"]
    manifest = append(project / "mcpgen.yaml", CONFIRM)

    report = regenerate()

    assert report.outcome == "done"
    assert dependencies(project) == ["mcpgen[seal]>=0.6,<0.7"]
    assert contract(project)["extras"] == {"seal": ["list_orders"]}
    assert "PET_SHOP_STATE_KEYS=" in (project / ".env.example").read_text()

    (project / "mcpgen.yaml").write_text(manifest)
    assert regenerate().outcome == "done"
    assert dependencies(project) == ["mcpgen>=0.6,<0.7"]
    assert "extras" not in contract(project)


def test_confirm_with_only_legacy_revisions_needs_no_extra(
    project: Path, regenerate: Regenerate
) -> None:
    manifest = project / "mcpgen.yaml"
    append(manifest, CONFIRM)
    text = manifest.read_text()
    manifest.write_text(text.replace("server:\n", 'server:\n  revisions: ["2025-11-25"]\n', 1))

    report = regenerate()

    assert report.outcome == "done", list(report.problems)
    assert dependencies(project) == ["mcpgen>=0.6,<0.7"]
    assert "extras" not in contract(project)


def test_the_extra_is_added_to_dependencies_edited_by_the_user(
    project: Path, regenerate: Regenerate
) -> None:
    pyproject = project / "pyproject.toml"
    mine = pyproject.read_text().replace(
        'dependencies = ["mcpgen>=0.6,<0.7"]',
        'dependencies = [\n    "mcpgen[otel]==0.4.0",  # pinned\n    "rich",\n]',
    )
    pyproject.write_text(mine)
    manifest = append(project / "mcpgen.yaml", CONFIRM)

    assert regenerate().outcome == "done"
    assert dependencies(project) == ["mcpgen[otel,seal]==0.4.0", "rich"]

    (project / "mcpgen.yaml").write_text(manifest)
    assert regenerate().outcome == "done"
    assert pyproject.read_text() == mine


def test_a_handler_that_asks_the_client_adds_the_extra(
    project: Path, regenerate: Regenerate
) -> None:
    handler = project / "src/pet_shop_mcp/handlers/orders.py"
    handler.write_text(ASKING)
    regenerate()
    assert dependencies(project) == ["mcpgen[seal]>=0.6,<0.7"]
    assert "extras" not in contract(project)  # how often it asks is not known

    handler.write_text(ASKING.replace("    await ctx.elicit", "    # await ctx.elicit"))
    append(project / "mcpgen.yaml", "\n# Without a change of an input nothing is generated.\n")
    assert regenerate().outcome == "done"
    assert dependencies(project) == ["mcpgen>=0.6,<0.7"]


def test_check_reports_a_handler_that_asks_without_the_extra(
    project: Path, regenerate: Regenerate
) -> None:
    (project / "src/pet_shop_mcp/handlers/orders.py").write_text(ASKING)
    regenerate()
    assert check(project).outcome == "done"

    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("[seal]", ""))
    report = check(project)

    assert report.outcome == "findings"
    (problem,) = report.problems
    assert problem.code == "missing-extra"
    assert problem.at is not None
    assert problem.at.file.endswith("handlers/orders.py")

    pyproject.write_text(
        pyproject.read_text().replace("dependencies = [", 'dependencies = ["cryptography", ', 1)
    )
    assert check(project).outcome == "done"


def test_a_server_of_hand_written_tools_has_the_extra_from_the_start(tmp_path: Path) -> None:
    report = new_by_hand("by-hand", tmp_path / "by-hand-mcp", {}, silent)

    assert report.outcome == "done"
    assert dependencies(tmp_path / "by-hand-mcp") == ["mcpgen[seal]>=0.6,<0.7"]


@pytest.mark.parametrize(
    ("base", "yours", "ours", "expected"),
    [
        ("mcpgen>=1", "mcpgen>=1", "mcpgen[seal]>=1", "mcpgen[seal]>=1"),
        ("mcpgen>=1", "mcpgen==1.2", "mcpgen[seal]>=1", "mcpgen[seal]==1.2"),
        ("mcpgen>=1", "mcpgen[a] >=1", "mcpgen[b]>=2", "mcpgen[a,b]>=2"),
        ("mcpgen[seal]>=1", "mcpgen[seal,a]==1.2", "mcpgen>=1", "mcpgen[a]==1.2"),
        ("mcpgen>=1", "mcpgen @ file:///x.whl", "mcpgen[seal]>=1",
         "mcpgen[seal] @ file:///x.whl"),
        ("mcpgen>=1", "mcpgen==1.2", "mcpgen[seal]>=2", "mcpgen==1.2"),
        ("mcpgen[seal]>=1", "mcpgen>=1", "mcpgen[seal]>=1", "mcpgen>=1"),
    ],
    ids=["untouched", "pinned", "other extra", "removed", "a file", "both versions", "declined"],
)  # fmt: skip
def test_a_requirement_is_merged_part_by_part(
    base: str, yours: str, ours: str, expected: str
) -> None:
    base, yours, ours = (f'[project]\ndependencies = ["{it}"]\n' for it in (base, yours, ours))
    merged = merge("pyproject.toml", base.encode(), yours.encode(), ours.encode())

    assert tomllib.loads(merged.content.decode())["project"]["dependencies"] == [expected]

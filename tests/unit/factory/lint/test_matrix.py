"""Tests of the matrix of tools and clients, as JSON and as a table."""

from __future__ import annotations

from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.matrix import (
    WHOLE_SERVER,
    Matrix,
    build_matrix,
    format_matrix_json,
    format_matrix_text,
)
from mcpgen.ir.clients import read_clients
from tests.unit.factory.lint.conftest import make_arguments, make_tool


def build(*names: str, **more: object) -> Matrix:
    tools = [make_tool(name, **more) for name in names]
    return build_matrix(Listing(server="shop", tools=tools), read_clients())


def test_a_cell_has_the_worst_effect_of_all_limits() -> None:
    matrix = build("get.pet" * 10)
    effects = {client: matrix.cell("get.pet" * 10, client).effect for client in read_clients()}
    assert effects["vscode"] == "degraded"
    assert effects["claude-desktop"] == "breaks"  # by the pattern; the length alone drops the tool
    assert effects["cursor"] == "dropped"
    assert effects["junie"] == "ok"


def test_limits_of_the_server_have_a_row_of_their_own() -> None:
    matrix = build(*(f"t{number}" for number in range(101)))
    assert matrix.cell(WHOLE_SERVER, "windsurf").effect == "degraded"
    assert matrix.cell("t0", "windsurf").effect == "ok"


def test_each_cell_that_is_not_ok_names_its_rows_and_sources() -> None:
    shown = format_matrix_json(build("get.pet", "get_pet"))
    assert shown["tools"]["get_pet"]["codex"] == {"effect": "ok"}
    (limit,) = shown["tools"]["get.pet"]["codex"]["limits"]
    assert (limit["row"], limit["effect"]) == ("codex/tool-name", "breaks")
    assert (limit["source"], limit["verified"]) == ("openai/codex#8174", "2026-11")
    for row in shown["tools"].values():
        assert row.keys() == read_clients().keys()
        assert all(cell["effect"] == "ok" or cell["limits"] for cell in row.values())


def test_the_table_shows_tools_with_a_loss_a_legend_and_the_sources() -> None:
    lines = format_matrix_text(build("get.pet", "get_pet", inputSchema=make_arguments()))
    table = "\n".join(lines)
    assert any(line.startswith("get.pet") and "!" in line for line in lines)
    assert ". ok   d degraded   x tool dropped   ! all tools rejected" in lines
    assert "codex/tool-name: the name `get.pet` does not match ^[a-zA-Z0-9_-]+$" in lines
    assert "  breaks; openai/codex#8174, 2026-11" in lines
    assert max(map(len, table.splitlines()[:6])) <= 100


def test_clients_that_accept_everything_are_counted() -> None:
    matrix = build_matrix(
        Listing(server="shop", tools=[make_tool()]), {"junie": read_clients()["junie"]}
    )
    assert "1 of 1 tools are ok in all clients" in format_matrix_text(matrix)

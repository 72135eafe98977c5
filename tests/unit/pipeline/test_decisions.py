"""Tests of the decisions about a new server: the decision, its reason, and how to change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpgen.ir.findings import Decision
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.support.projects import silent

OPERATION: dict[str, Any] = {"responses": {"204": {"description": "None."}}}
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
LOGIN = {
    "type": "oauth2",
    "flows": {
        "authorizationCode": {
            "authorizationUrl": "https://toys.example/authorize",
            "tokenUrl": "https://login.example/token",
            "scopes": {},
        }
    },
}


def decide(folder: Path, change: dict[str, Any] | None = None, **options: Any) -> list[Decision]:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Toy Shop", "version": "1"},
        "servers": [{"url": "https://toys.example"}],
        "paths": {"/toys": {"get": OPERATION, "post": OPERATION}, "/staff": {"get": OPERATION}},
        **(change or {}),
    }
    source = folder / "toys.yaml"
    source.write_text(yaml.safe_dump(document))
    given = Options(external_validator=False, cache=folder / "cache", models=False, **options)
    report = new(str(source), folder / "made", given, silent)
    assert report.outcome == "done", list(report.problems)
    return list(report.decisions)


def pick(decisions: list[Decision], topic: str) -> list[tuple[str, str]]:
    return [(it.decision, it.reason) for it in decisions if it.topic == topic]


def test_the_name_is_from_the_title_or_from_the_user(tmp_path: Path) -> None:
    assert pick(decide(tmp_path), "name") == [("toy-shop", "from the title of the API")]
    (tmp_path / "b").mkdir()
    assert pick(decide(tmp_path / "b", name="toys"), "name") == [("toys", "as requested")]


def test_rules_are_the_reason_for_a_selection(tmp_path: Path) -> None:
    decisions = decide(tmp_path, include=("GET *",), exclude=("/staff",))

    assert pick(decisions, "tools") == [
        ("1 of 3 operations", "by the rules exclude /staff, include GET *")
    ]


def test_skipped_operations_are_counted_by_their_rule(tmp_path: Path) -> None:
    broken = {"get": {"parameters": [{"$ref": "#/components/parameters/No"}], **OPERATION}}

    decisions = decide(tmp_path, {"paths": {"/a": {"get": OPERATION}, "/b": broken}})

    assert pick(decisions, "skipped") == [("1 operation", "unresolved-ref (1)")]


def test_search_mode_is_explained_by_the_budget(tmp_path: Path) -> None:
    paths = {f"/things/{number}": {"get": OPERATION} for number in range(400)}

    ((decision, reason),) = pick(decide(tmp_path, {"paths": paths}), "list")

    assert decision == "only search_tools, describe_tool, call_tool"
    assert reason.endswith("tokens, over the budget of 20,000")


@pytest.mark.parametrize(
    ("servers", "options", "expected"),
    [
        ([], {}, ("from TOY_SHOP_BASE_URL", "the document has no absolute one")),
        (["/v1"], {}, ("from TOY_SHOP_BASE_URL", "the document has no absolute one")),
        (["https://a.example"], {}, ("https://a.example", "from the document")),
        (
            ["http://127.0.0.1:8000"],
            {},
            ("from TOY_SHOP_BASE_URL", "http://127.0.0.1:8000 in the document is private"),
        ),
        (
            ["https://a.example", "https://b.example"],
            {},
            ("https://a.example", "the first of 2 servers of the document"),
        ),
        (
            ["https://a.example"],
            {"base_url": "https://c.example"},
            ("https://c.example", "as requested"),
        ),
    ],
)
def test_the_base_url_has_a_reason(
    tmp_path: Path, servers: list[str], options: dict[str, str], expected: tuple[str, str]
) -> None:
    change = {"servers": [{"url": url} for url in servers]}

    assert pick(decide(tmp_path, change, **options), "base URL") == [expected]


def test_credentials_are_listed_by_their_source(tmp_path: Path) -> None:
    schemes = {"securitySchemes": {"key": KEY, "login": LOGIN}}
    change = {"components": schemes, "security": [{"key": [], "login": []}]}
    user = {"login": CredentialEntry(from_="user")}

    decisions = decide(tmp_path, change, credentials=user)

    assert pick(decisions, "credentials") == [
        ("from the environment", "security key"),
        ("the account that each user connects", "security login"),
    ]
    assert pick(decisions, "origins") == [
        (
            "no credentials for https://login.example",
            "not confirmed",
        )
    ]


def test_every_decision_names_what_changes_it(tmp_path: Path) -> None:
    decisions = decide(tmp_path)

    assert all(it.decision and it.reason and it.change for it in decisions)
    assert len({it.topic for it in decisions}) == len(decisions)

"""Tests of operations that are proposed as one tool, and of some that only look similar."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.plan.proposals.similar import SimilarOperations, find_similar

SECRET = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
OTHER = {"type": "object", "properties": {"id": {"type": "string"}, "age": {"type": "integer"}}}


def describe(path: str, summary: str, result: Any = SECRET, *query: str) -> dict[str, Any]:
    names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    found: dict[str, Any] = {
        "summary": summary,
        "parameters": [
            {"name": it, "in": "path", "required": True, "schema": {"type": "string"}}
            for it in names
        ]
        + [{"name": it, "in": "query", "schema": {"type": "string"}} for it in query],
        "responses": {"204": {"description": "done"}},
    }
    if result is not None:
        content = {"application/json": {"schema": result}}
        found["responses"] = {"200": {"description": "done", "content": content}}
    return found


def find(make: Any, *operations: tuple[str, dict[str, Any]]) -> list[SimilarOperations]:
    root = make.document()
    root["paths"] = {}
    for request, described in operations:
        method, path = request.split()
        root["paths"].setdefault(path, {})[method.lower()] = described
    return find_similar(make(root).plan())


def get(path: str, summary: str, result: Any = SECRET, *query: str) -> tuple[str, dict[str, Any]]:
    return f"GET {path}", describe(path, summary, result, *query)


def deprecate(described: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    request, operation = described
    return request, {**operation, "deprecated": True}


def test_owners_of_a_collection_are_choices(make: Any) -> None:
    (group,) = find(
        make,
        get("/orgs/{org}/secrets", "List organization secrets"),
        get("/repos/{owner}/{repo}/secrets", "List repository secrets"),
        get("/enterprises/{enterprise}/secrets", "List secrets for an enterprise"),
    )
    assert {choice: it.key for choice, it in group.members.items()} == {
        "org": "GET /orgs/{org}/secrets",
        "repo": "GET /repos/{owner}/{repo}/secrets",
        "enterprise": "GET /enterprises/{enterprise}/secrets",
    }
    assert (group.name, group.argument) == ("list_secrets", "scope")


def test_the_caller_is_one_of_the_users(make: Any) -> None:
    (group,) = find(
        make,
        get("/me", "Get the current user"),
        get("/users/{id}", "Get a user"),
        get("/shops/{id}", "Get a shop"),
    )
    assert {choice: it.key for choice, it in group.members.items()} == {
        "me": "GET /me",
        "user": "GET /users/{id}",
    }


def test_an_argument_with_the_name_of_the_selecting_one_moves_it(make: Any) -> None:
    (group,) = find(
        make,
        get("/orgs/{org}/secrets", "List secrets of an organization", SECRET, "scope"),
        get("/repos/{repo}/secrets", "List secrets of a repository", SECRET, "scope"),
    )
    assert group.entry["argument"] == group.argument == "level"


@pytest.mark.parametrize(
    ("why", "one", "other"),
    [
        (
            "another result",
            get("/orgs/{org}/secrets", "List secrets"),
            get("/repos/{repo}/secrets", "List secrets", OTHER),
        ),
        (
            "no result that could agree",
            get("/orgs/{org}/secrets", "List secrets", None),
            get("/repos/{repo}/secrets", "List secrets", None),
        ),
        (
            "other arguments",
            get("/orgs/{org}/secrets", "List secrets", SECRET, "a", "b", "c"),
            get("/repos/{repo}/secrets", "List secrets", SECRET, "d", "e"),
        ),
        (
            "another verb",
            get("/orgs/{org}/secrets", "List secrets"),
            get("/repos/{repo}/secrets", "Count secrets"),
        ),
        (
            "the titles tell of something else",
            get("/orgs/{org}/secrets", "List encrypted deployment secrets"),
            get("/repos/{repo}/secrets", "List public build secrets"),
        ),
        (
            "versions of one path",
            get("/v1/orgs/{org}/secrets", "List secrets"),
            get("/v2/orgs/{org}/secrets", "List secrets"),
        ),
        (
            "areas of the API",
            get("/apps/v1/namespaces/{name}/secrets", "List secrets"),
            get("/batch/v1beta1/namespaces/{name}/secrets", "List secrets"),
        ),
        (
            "an action on the owner itself",
            ("POST /orders/{id}/refund", describe("/orders/{id}/refund", "Refund an order")),
            ("POST /sales/{id}/refund", describe("/sales/{id}/refund", "Refund a sale")),
        ),
        (
            "different things with ids",
            get("/orders/{id}", "Get an order"),
            get("/sales/{id}", "Get a sale"),
        ),
        (
            "deprecated",
            get("/orgs/{org}/secrets", "List secrets"),
            deprecate(get("/repos/{repo}/secrets", "List secrets")),
        ),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)  # fmt: skip
def test_operations_that_differ_otherwise_are_not_proposed(
    make: Any, why: str, one: Any, other: Any
) -> None:
    assert find(make, one, other) == [], why


def _nest(leaf: dict[str, Any], depth: int) -> dict[str, Any]:
    if not depth:
        return leaf
    return {"type": "object", "properties": {"a": _nest(leaf, depth - 1), "b": {"type": "null"}}}


def test_results_that_differ_only_where_the_list_cuts_them_differ(make: Any) -> None:
    found = find(
        make,
        get("/orgs/{org}/secrets", "List secrets", _nest({"type": "string"}, 14)),
        get("/repos/{repo}/secrets", "List secrets", _nest({"type": "integer"}, 14)),
    )
    assert found == []


def test_results_that_differ_only_behind_four_references_differ(make: Any) -> None:
    root = make.document()
    root |= {"paths": {}, "components": {"schemas": {}}}
    for kind, path in (("string", "/orgs/{org}/secrets"), ("integer", "/repos/{repo}/secrets")):
        names = [f"{kind}{number}" for number in range(4)]
        leaves = [*({"$ref": f"#/components/schemas/{name}"} for name in names[1:]), {"type": kind}]
        for name, leaf in zip(names, leaves, strict=True):
            root["components"]["schemas"][name] = _nest(leaf, 6)
        result = {"$ref": f"#/components/schemas/{kind}0"}
        root["paths"][path] = {"get": describe(path, "List secrets", result)}
    assert find_similar(make(root).plan()) == []


def test_a_name_in_use_is_not_proposed(make: Any) -> None:
    (group,) = find(
        make,
        get("/orgs/{org}/secrets", "List secrets of an organization"),
        get("/repos/{repo}/secrets", "List secrets of a repository"),
        ("GET /secrets", describe("/secrets", "List secrets", OTHER)),
    )
    assert group.name == "list_secrets_by_scope"


def test_a_name_says_what_is_done_in_bulk(make: Any) -> None:
    found = [
        (request, {**described, "operationId": operation_id})
        for operation_id, (request, described) in {
            "secretsForOrg": get("/orgs/{org}/secrets", "Bulk delete organization secrets"),
            "secretsForRepo": get("/repos/{repo}/secrets", "Bulk delete repository secrets"),
        }.items()
    ]
    (group,) = find(make, *found)
    assert group.name == "bulk_delete_secrets"

"""Tests of proposed workflows that find something and act on it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpgen.plan.proposals.find_then_act import FindThenAct, find_workflows

LABEL = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
LIST = {"type": "array", "items": LABEL}
BODY = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}


def answer(schema: Any, **more: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"200": {"description": "done", "content": content, **more}}


def path_parameter(name: str, type: str = "integer") -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": type}}


def list_names_in(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def find(
    make: Any,
    *,
    query: str = "name",
    listed: Any = LIST,
    method: str = "patch",
    path: str = "/labels/{labelId}",
    id_type: str = "integer",
    list_path: str = "/labels",
    links: dict[str, Any] | None = None,
) -> list[FindThenAct]:
    root = make.document()
    of_list = [
        {"name": query, "in": "query", "schema": {"type": "string"}},
        *(path_parameter(name, "string") for name in list_names_in(list_path)),
    ]
    of_item = [path_parameter("labelId", id_type)]
    of_item += [path_parameter(it, "string") for it in list_names_in(path) if it != "labelId"]
    item: dict[str, Any] = {
        "operationId": "changeLabel",
        "summary": "Change a label",
        "parameters": of_item,
        "responses": answer(LABEL),
    }
    if method != "get":
        item["requestBody"] = BODY
    root["paths"] = {
        list_path: {
            "get": {
                "operationId": "listLabels",
                "summary": "List labels",
                "parameters": of_list,
                "responses": answer(listed, **({"links": links} if links else {})),
            }
        },
        path: {method: item},
    }
    return find_workflows(make(root).plan())


def test_what_is_found_by_name_is_acted_on(make: Any) -> None:
    (found,) = find(make)
    assert found.name == "change_label_by_name"
    search, act = found.entry["steps"]
    assert search["operation"] == "listLabels"
    assert search["arguments"] == {"name": "$inputs.name"}
    assert search["outputs"]["id"] == "$response.body#/0/id"
    assert search["outputs"]["another"] == "$response.body#/1/id"
    assert act["arguments"] == {"label_id": "$steps.find.outputs.id", "body": "$inputs.body"}
    assert "another" in act["when"]
    assert found.entry["inputs"]["required"] == ["name", "body"]


def test_items_are_found_in_a_member_and_below_a_parent(make: Any) -> None:
    listed = {"type": "object", "properties": {"data": LIST, "total": {"type": "integer"}}}
    (found,) = find(
        make,
        listed=listed,
        list_path="/shops/{shop}/labels",
        path="/shops/{shop}/labels/{labelId}",
    )
    search, act = found.entry["steps"]
    assert search["outputs"]["id"] == "$response.body#/data/0/id"
    assert search["arguments"]["shop"] == act["arguments"].get("shop", "$inputs.shop")
    assert "shop" in found.entry["inputs"]["required"]


def test_arguments_have_the_order_of_the_path(make: Any) -> None:
    names = ["owner", "shop", "area", "floor", "row", "box"]
    path = "".join(f"/{name}s/{{{name}}}" for name in names) + "/labels"
    (found,) = find(make, list_path=path, path=f"{path}/{{labelId}}")
    assert list(found.entry["steps"][0]["arguments"]) == ["name", *names]


@pytest.mark.parametrize(
    "unlike",
    [
        {"query": "sort"},
        {"query": "key"},
        {"query": "username"},
        {"query": "id"},
        {"method": "delete"},
        {"method": "get"},
        {"id_type": "boolean"},
        {"listed": LABEL},
        {"listed": {"type": "array", "items": {"type": "string"}}},
        {"list_path": "/tags"},
        {"listed": {"type": "array", "items": {"type": "object", "properties": {
            "id": {"type": "integer"}, "labelId": {"type": "integer"}}}}},
    ],
    ids=str,
)  # fmt: skip
def test_other_operations_are_no_workflow(make: Any, unlike: dict[str, Any]) -> None:
    assert find(make, **unlike) == []


def test_a_link_leads_from_one_operation_to_the_other(make: Any) -> None:
    links = {
        "change": {"operationId": "changeLabel", "parameters": {"labelId": "$response.body#/0/id"}}
    }
    by_link, *_ = find(make, query="sort", links=links)
    assert by_link.by == ""
    assert by_link.name == "list_labels_then_change_label"
    assert by_link.entry["steps"][0]["outputs"] == {"label_id": "$response.body#/0/id"}
    assert by_link.entry["steps"][1]["arguments"]["label_id"] == "$steps.find.outputs.label_id"


def test_links_with_other_expressions_are_not_followed(make: Any) -> None:
    links = {"change": {"operationId": "changeLabel", "parameters": {"labelId": "$request.path.x"}}}
    assert find(make, query="sort", links=links) == []


def test_links_to_what_the_response_does_not_have_are_not_followed(make: Any) -> None:
    for place in ("/id", "/0/nope", "/0/id/more"):
        value = f"$response.body#{place}"
        links = {"change": {"operationId": "changeLabel", "parameters": {"labelId": value}}}
        assert find(make, query="sort", links=links) == [], place

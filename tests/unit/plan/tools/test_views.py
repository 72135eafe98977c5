"""Tests of views in the manifest: what they show, and which are rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.tool_plan import ServerPlan, ViewPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render import contracts

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
VISIT = {
    "type": "object",
    "properties": {
        "visitId": {"type": "integer"},
        "shop": {"type": "string"},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer", "title": "Number of visits"},
        "share": {"type": ["number", "null"]},
        "photo_url": {"type": "string"},
        "owner": {"type": "object", "properties": {"名前": {"type": "string"}, "id": {}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
PAGE = {
    "type": "object",
    "properties": {
        "visits": {"type": "array", "items": {"$ref": "#/components/schemas/Visit"}},
        "next_cursor": {"type": "string"},
    },
}
TWO = {
    "type": "object",
    "properties": {
        "meta": {"type": "object", "properties": {"tags": {"type": "array", "items": {}}}},
        "visits": {"type": "array", "items": {"$ref": "#/components/schemas/Visit"}},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}


class Shop:
    def __init__(self, make: Any) -> None:
        def answered(schema: Any) -> Any:
            content = {"application/json": {"schema": schema}}
            return {"200": {"description": "done", "content": content}}

        root = make.document(schemas={"Visit": VISIT, "Page": PAGE, "Two": TWO})
        visit = {"$ref": "#/components/schemas/Visit"}
        cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
        page = answered({"$ref": "#/components/schemas/Page"})
        root["paths"] = {
            "/visit": {
                "get": {"operationId": "getVisit", "responses": answered(visit)},
                "delete": {"operationId": "endVisit", "responses": {"204": {"description": "ok"}}},
            },
            "/visits": {
                "get": {"operationId": "listVisits", "parameters": [cursor], "responses": page}
            },
            "/all": {
                "get": {
                    "operationId": "listAll",
                    "responses": answered({"type": "array", "items": visit}),
                }
            },
            "/two": {
                "get": {
                    "operationId": "listTwo",
                    "responses": answered({"$ref": "#/components/schemas/Two"}),
                }
            },
            "/free": {"get": {"operationId": "getFree", "responses": answered({"type": "array"})}},
        }
        self.lowered = make(root)
        self.problems = Problems()

    def plan(self, name: str, entry: str) -> ServerPlan:
        text = f"{HEAD}operations:\n  {name}: {entry}\n"
        intent = read_manifest(text.encode(), self.problems)
        return plan_tools(self.lowered.api, Policy(intent), self.problems)

    def view(self, name: str, view: str) -> ViewPlan:
        tools = self.plan(name, f"{{view: {view}}}").tools
        (tool,) = [tool for tool in tools if tool.operation.operation_id == name]
        assert not list(self.problems)
        assert tool.view is not None
        return tool.view

    def contract(self, name: str, entry: str) -> Any:
        plan = self.plan(name, entry)
        assert contracts.server_contract(plan)["views"] is True
        (view,) = json.loads(json.dumps(contracts.make_views_contract(plan))).values()
        return view


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


def labels(view: ViewPlan) -> list[tuple[str, str, str]]:
    return [(column.label, column.type, column.format) for column in view.columns]


def test_a_table_shows_the_plain_members_of_the_only_list(shop: Shop) -> None:
    view = shop.view("listVisits", "table")
    assert view.items == ("visits",)
    assert labels(view) == [
        ("Visit ID", "integer", ""),
        ("Shop", "string", ""),
        ("Day", "string", "date"),
        ("Number of visits", "integer", ""),
        ("Share", "number", ""),
        ("Photo URL", "string", ""),
    ]


def test_the_items_of_a_bare_list_are_in_the_member_that_wraps_it(shop: Shop) -> None:
    assert shop.view("listAll", "table").items == ("result",)


def test_members_are_shown_in_the_order_of_the_manifest(shop: Shop) -> None:
    view = shop.view("listTwo", "{kind: table, items: visits, members: [owner.名前, day, tags]}")
    assert view.items == ("visits",)
    assert [column.path for column in view.columns] == [("owner", "名前"), ("day",), ("tags",)]
    assert labels(view) == [
        ("Owner 名前", "string", ""),
        ("Day", "string", "date"),
        ("Tags", "array", ""),
    ]


def test_a_chart_takes_a_time_and_the_numbers_that_are_no_ids(shop: Shop) -> None:
    view = shop.view("listVisits", "chart")
    assert [column.path for column in view.columns] == [("day",), ("count",), ("share",)]


def test_a_gallery_takes_a_picture_and_texts(shop: Shop) -> None:
    view = shop.view("listVisits", "{kind: gallery, image_origins: ['https://a.example/']}")
    assert [column.path for column in view.columns] == [("photo_url",), ("shop",), ("day",)]
    assert view.image_origins == ("https://a.example",)


def test_a_record_shows_everything_or_what_is_named(shop: Shop) -> None:
    assert shop.view("getVisit", "record") == ViewPlan("record")
    view = shop.view("listTwo", "{kind: record, items: meta, members: [tags]}")
    assert (view.items, view.columns[0].path) == (("meta",), ("tags",))


def test_members_that_were_not_selected_are_not_shown(shop: Shop) -> None:
    entry = "{result: {select: ['visits[].shop', 'visits[].count']}, view: table}"
    columns = shop.contract("listVisits", entry)["columns"]
    assert [column["label"] for column in columns] == ["Shop", "Number of visits"]


def test_a_list_with_pages_says_how_to_go_on_unless_its_items_are_cut(shop: Shop) -> None:
    expected = {"kind": "cursor", "argument": "cursor", "cursor": ["next_cursor"]}
    assert shop.contract("listVisits", "{view: table}")["next_page"] == expected
    cut = shop.contract("listVisits", "{view: table, result: {max_items: 5}}")
    assert "next_page" not in cut


def test_a_form_has_the_request_and_the_question(shop: Shop) -> None:
    entry = "{view: form, confirm: Really?}"
    assert shop.contract("endVisit", entry) == {
        "kind": "form",
        "operation": "DELETE /visit",
        "confirm": "Really?",
    }


def test_a_server_without_views_has_no_contract_of_them(shop: Shop) -> None:
    plan = shop.plan("listVisits", "{title: Visits}")
    assert contracts.make_views_contract(plan) == {}
    assert "views" not in contracts.server_contract(plan)


@pytest.mark.parametrize(
    ("name", "view", "pointer", "message", "help"),
    [
        ("endVisit", "table", "view", "no JSON response to show", "`form`"),
        ("getVisit", "table", "view", "no single list to show (lists: none)", "items: data"),
        ("listTwo", "table", "view", "lists: `visits`, `errors`", "items: data"),
        ("listTwo", "{kind: table, items: visitz}", "view/items", "no `visitz`", "`visits`?"),
        ("listTwo", "{kind: table, items: meta}", "view/items", "`meta` is not a list", "record"),
        ("listTwo", "{kind: table, items: 'visits[].tags'}", "view/items", "more than one", "one"),
        ("listAll", "record", "view", "returns a list", "`table`"),
        ("getFree", "table", "view", "no members of the list", "members: [...]"),
        ("listVisits", "{kind: table, members: [shpo]}", "view/members/0", "no `shpo`", "`shop`?"),
        (
            "listVisits",
            "{kind: table, members: [shop, 'tags[]']}",
            "view/members/1",
            "more than one value",
            "show `tags`",
        ),
        ("listVisits", "{kind: form, members: [shop]}", "view/members", "all arguments", "leave"),
        (
            "listVisits",
            "{kind: table, image_origins: ['https://a.example']}",
            "view/image_origins",
            "no pictures",
            "gallery",
        ),
    ],
)
def test_a_view_that_does_not_fit_is_an_error_at_its_place(
    shop: Shop, name: str, view: str, pointer: str, message: str, help: str
) -> None:
    plan = shop.plan(name, f"{{view: {view}}}")
    (problem,) = shop.problems
    assert (problem.code, problem.severity) == ("view-entry", "error")
    assert problem.at is not None
    assert problem.at.pointer.removeprefix(f"/operations/{name}/") == pointer
    assert message in problem.message
    assert help in problem.help
    assert all(tool.view is None for tool in plan.tools)


def test_a_resource_has_no_view(shop: Shop) -> None:
    shop.plan("getVisit", "{view: record, expose: resource}")
    assert "a resource has no view" in " ".join(problem.message for problem in shop.problems)


def test_a_view_is_for_one_operation_only() -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(f"{HEAD}operations: {{'*': {{view: table}}}}\n".encode(), problems)
    assert "`view` cannot be set for many operations" in [problem.message for problem in problems]


@pytest.mark.parametrize("view", ["tables", "{kind: table, columns: [a]}", "{members: [a]}", "[]"])
def test_an_invalid_view_is_an_error_of_the_manifest(view: str) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(f"{HEAD}operations: {{a: {{view: {view}}}}}\n".encode(), problems)
    assert list(problems)

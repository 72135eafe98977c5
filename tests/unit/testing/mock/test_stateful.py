"""Tests of the state of a stateful mock, through a server and for unusual documents."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcpgen.factory.packages import find_package
from mcpgen.runtime.upstream.http.messages import HttpRequest
from mcpgen.testing import Client, MockUpstream
from tests.support.paths import EXAMPLES

JSON = ("Content-Type", "application/json")
Call = Callable[..., Awaitable[Any]]


def through_server(name: str, story: Callable[[Call], Awaitable[None]]) -> MockUpstream:
    """Run a scenario of tool calls over stdio, with the stateful mock on a socket."""
    package = find_package(EXAMPLES / f"{name}-mcp")
    mock = MockUpstream(package.upstream(), stateful=True)

    async def told() -> None:
        environment = package.environment(package.mock_environment(await mock.start()))
        try:
            command = (sys.executable, "-m", package.name)
            async with await Client.over_stdio(command, environment) as client:

                async def call(tool: str, *, fails_with: int = 0, **arguments: Any) -> Any:
                    result = await client.call_tool(tool, arguments)
                    said = result["content"][0]["text"] if result["content"] else ""
                    assert result.get("isError", False) is bool(fails_with), said
                    assert str(fails_with or "") in said
                    return result.get("structuredContent")

                await story(call)
        finally:
            await mock.stop()

    asyncio.run(told())
    assert not [problem for request in mock.requests for problem in request.problems]
    return mock


def test_a_pet_is_created_found_replaced_and_deleted() -> None:
    async def story(call: Call) -> None:
        tom = await call("create_pet", body={"name": "Tom", "species": "cat", "tags": ["loud"]})
        assert (tom["name"], tom["tags"]) == ("Tom", ["loud"])
        assert await call("get_pet", pet_id=tom["id"]) == tom
        assert [pet["id"] for pet in (await call("list_pets"))["items"]] == [42, tom["id"]]
        assert await call("list_vaccinations", pet_id=tom["id"]) is not None

        tim = {"name": "Tim", "species": "cat", "status": "sold"}
        replaced = await call("replace_pet", pet_id=tom["id"], body=tim)
        assert replaced == {**tim, "id": tom["id"]}, "what PUT does not say is gone"
        assert await call("get_pet", pet_id=tom["id"]) == replaced

        await call("delete_pet", pet_id=tom["id"])
        await call("get_pet", pet_id=tom["id"], fails_with=404)
        await call("delete_pet", pet_id=tom["id"], fails_with=404)
        await call("list_vaccinations", pet_id=tom["id"], fails_with=404)
        assert [pet["id"] for pet in (await call("list_pets"))["items"]] == [42]
        again = await call("create_pet", body={"name": "Tom", "species": "cat"})
        assert again["id"] != tom["id"], "an id is given once"

    through_server("petstore", story)


def test_a_created_account_keeps_its_name() -> None:
    async def story(call: Call) -> None:
        new = {"username": "grace", "email": "grace@example.com", "password": "correct horse"}
        created = await call("create_user", body=new)
        assert "password" not in created, "it is never shown"
        await call("create_user", body=new, fails_with=409)

        changed = await call("update_user", username="grace", body={"email": "g@example.com"})
        assert changed == {**created, "email": "g@example.com"}, "PATCH leaves the rest"
        await call("delete_user", username="grace")
        await call("get_user", username="grace", fails_with=404)

    through_server("petstore", story)


BOOK = {
    "isbn": "9780000000026",
    "title": "Another coast",
    "authorIds": [7],
    "format": "paperback",
    "price": {"amount": "9.00", "currency": "EUR"},
}


def test_a_created_book_has_only_its_own_reviews() -> None:
    async def story(call: Call) -> None:
        known = (await call("list_books"))["items"][0]["isbn"]
        seeded = await call("list_reviews", isbn=known)
        await call("add_book", body=BOOK)

        assert (await call("list_reviews", isbn="9780000000026"))["items"] == []
        review = await call("write_review", isbn="9780000000026", body={"stars": 5})
        assert await call("list_reviews", isbn=known) == seeded
        await call("withdraw_review", isbn="9780000000026", review_id=review["id"])
        assert (await call("list_reviews", isbn="9780000000026"))["items"] == []
        await call("remove_book", isbn="9780000000026")
        await call("list_reviews", isbn="9780000000026", fails_with=404)

    through_server("bookshop", story)


# Documents of a few lines


def described(
    paths: dict[str, dict[str, Any]], parameter: dict[str, Any] | None = None
) -> MockUpstream:
    """Return a stateful mock of paths: methods, each with its JSON response or None for 204."""
    operations = []
    for path, methods in paths.items():
        names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
        for method, answer in methods.items():
            operations.append(
                {
                    "method": method,
                    "path": path,
                    "parameters": [
                        {
                            "name": name,
                            "location": "path",
                            "required": True,
                            "style": "simple",
                            "schema": parameter or {"type": "string"},
                        }
                        for name in names
                    ],
                    "responses": [{"status": "204"}] if answer is None else [answered(answer)],
                    **({"request_body": BODY} if method in {"POST", "PUT", "PATCH"} else {}),
                }
            )
    return MockUpstream({"operations": operations, "servers": [{"url": BASE}]}, stateful=True)


def answered(schema: dict[str, Any]) -> dict[str, Any]:
    location = {"name": "Location", "location": "header", "schema": {"type": "string"}}
    content = [{"media_type": "application/json", "schema": schema}]
    return {"status": "200", "content": content, "headers": [location]}


BASE = "https://api.example"
BODY = {"content": [{"media_type": "application/json", "schema": {"type": "object"}}]}
ITEM = {
    "type": "object",
    "required": ["id", "made_at"],
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "made_at": {"type": "string", "format": "date-time", "readOnly": True},
        "name": {"type": "string", "maxLength": 5},
        "note": {"type": "string"},
    },
}


def send(mock: MockUpstream, method: str, path: str, body: Any = None) -> tuple[int, Any, str]:
    content = None if body is None else json.dumps(body).encode()
    request = HttpRequest(method, f"{BASE}{path}", () if body is None else (JSON,), content)
    response = asyncio.run(mock.send(request))
    value = json.loads(response.body) if response.body else None
    return response.status, value, response.header("Location")


def test_missing_required_members_are_generated_and_invalid_ones_dropped() -> None:
    uuid = {"type": "string", "format": "uuid"}
    mock = described({"/things": {"POST": ITEM}, "/things/{thing_id}": {"GET": ITEM}}, uuid)

    _, made, location = send(
        mock, "POST", "/things", {"name": "too long", "note": "kept", "other": 1}
    )

    assert set(made) == {"id", "made_at", "note"}
    assert location == f"{BASE}/things/{made['id']}"
    assert send(mock, "GET", f"/things/{made['id']}")[1] == made
    assert send(mock, "POST", "/things", {})[1]["id"] != made["id"]


def test_items_in_an_envelope_are_recognised() -> None:
    one = {"type": "object", "properties": {"thing": ITEM}, "required": ["thing"]}
    many = {
        "type": "object",
        "properties": {
            "things": {"type": "array", "items": ITEM},
            "total": {"type": "integer"},
            "next": {"type": "string"},
        },
        "required": ["things", "total"],
    }
    mock = described(
        {
            "/things": {"POST": one, "GET": many},
            "/things/{id}": {"GET": one, "PATCH": one, "DELETE": None},
        }
    )
    before = send(mock, "GET", "/things")[1]
    made = send(mock, "POST", "/things", {"thing": {"name": "a"}})[1]["thing"]
    assert made["name"] == "a"

    listed = send(mock, "GET", "/things")[1]
    assert set(listed) == {"things", "total"}, "there is no next page"
    assert listed["total"] == len(before["things"]) + 1 == len(listed["things"])
    changed = send(mock, "PATCH", f"/things/{made['id']}", {"thing": {"note": "b"}})[1]["thing"]
    assert changed == {**made, "note": "b"}
    assert send(mock, "PATCH", f"/things/{made['id']}", [])[0] == 400
    assert send(mock, "PATCH", f"/things/{made['id']}", {"note": None})[1]["thing"] == made
    assert send(mock, "DELETE", f"/things/{made['id']}")[0] == 204
    assert send(mock, "GET", "/things")[1] == before


def test_unsupported_collections_are_served_statelessly_with_a_reason() -> None:
    anonymous = {"type": "object", "properties": {"label": {"type": "string"}}}
    mock = described(
        {
            "/labels": {"POST": anonymous},
            "/labels/{id}": {"GET": anonymous},
            "/settings/{key}": {"PUT": ITEM, "GET": ITEM},
            "/searches": {"POST": ITEM},
            "/status": {"GET": ITEM},
        }
    )

    assert mock.state is not None
    assert mock.state.collections == ()
    assert mock.state.skipped == {
        "/labels": "no answer shows by which property an item is named",
        "/settings/{key}": "no POST on the path above creates one",
        "/searches": "no path below it names one of what its POST creates",
    }
    assert send(mock, "GET", "/labels/never")[0] == 200
    assert send(mock, "PUT", "/settings/any", {})[0] == 200


def test_an_unresolved_schema_makes_the_collection_stateless() -> None:
    broken = {"type": "object", "properties": {"id": {"$ref": "#/$defs/gone"}}}
    mock = described({"/things": {"POST": broken}, "/things/{id}": {"GET": broken}})

    assert mock.state is not None
    assert "gone" in mock.state.skipped["/things"]
    assert send(mock, "GET", "/things/any")[0] == 200


def test_a_collection_without_free_ids_returns_409() -> None:
    only_two = {"type": "string", "enum": ["a", "b"]}
    item = {"type": "object", "required": ["id"], "properties": {"id": only_two}}
    mock = described({"/things": {"POST": item}, "/things/{id}": {"DELETE": None}}, only_two)

    statuses = [send(mock, "POST", "/things", {})[0] for _ in range(3)]

    assert sorted(set(statuses)) == [200, 409]


def test_ids_of_a_pattern_are_counted() -> None:
    schema = {"type": "string", "pattern": "^bot_[0-9a-f]{6}$"}
    item = {
        **ITEM,
        "properties": {"id": schema},
        "required": ["id"],
        "example": {"id": "bot_9f31c2"},
    }
    mock = described({"/bots": {"POST": item}, "/bots/{id}": {"GET": item}}, schema)

    names = [send(mock, "POST", "/bots", {})[1]["id"] for _ in range(3)]

    assert len({*names, "bot_9f31c2"}) == 4
    assert all(send(mock, "GET", f"/bots/{name}")[0] == 200 for name in names)


def test_an_id_of_too_many_digits_is_no_number() -> None:
    mock = described({"/things": {"POST": ANY_ID}, "/things/{id}": {"GET": ANY_ID}})
    digits = "1" * 5000

    assert send(mock, "POST", "/things", {"id": digits})[1]["id"] == digits
    assert send(mock, "POST", "/things", {})[1]["id"] != digits
    assert send(mock, "GET", f"/things/{digits}")[0] == 200


ANY_ID = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


def test_stored_items_are_listed_by_a_concrete_path() -> None:
    inner = {"POST": ITEM}
    mock = described(
        {
            "/things": inner,
            "/things/{a}": {"GET": ITEM, "DELETE": None},
            "/things/{a}/parts": inner,
            "/things/{a}/parts/{b}": {"GET": ITEM},
        }
    )
    assert mock.state is not None
    made = send(mock, "POST", "/things", {"name": "a"})[1]
    part = send(mock, "POST", f"/things/{made['id']}/parts", {"name": "b"})[1]
    assert made in (mock.state.list_stored("/things") or ())
    assert mock.state.list_stored(f"/things/{made['id']}/parts") == [part]
    assert mock.state.list_stored("/other") is None
    assert mock.state.list_stored("/things", "other source") is None
    send(mock, "DELETE", f"/things/{made['id']}")
    assert mock.state.list_stored(f"/things/{made['id']}/parts") == []


def test_forget_resets_the_collections() -> None:
    mock = described({"/things": {"POST": ITEM}, "/things/{id}": {"GET": ITEM, "DELETE": None}})
    made = send(mock, "POST", "/things", {})[1]["id"]

    mock.forget()

    assert send(mock, "GET", f"/things/{made}")[0] == 404


def test_a_mock_without_state_answers_from_the_document() -> None:
    upstream = Path(EXAMPLES, "petstore-mcp/tests/generated/upstream.json").read_bytes()
    assert MockUpstream(json.loads(upstream)).state is None

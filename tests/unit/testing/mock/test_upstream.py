from __future__ import annotations

import asyncio
import io
import json
from base64 import b64encode
from typing import Any

import aiohttp
import pytest

from mcpgen.runtime.upstream.errors import DisconnectedError, ResponseTooLargeError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import MockUpstream, Reply
from tests.support.paths import SHOP

BASE = "https://eu.shop.example/v1"
KEY = ("X-Key", "k1")
BASIC = ("Authorization", "Basic " + b64encode(b"ann:secret").decode())
JSON = ("Content-Type", "application/json")
ITEM = b'{"name": "Lamp", "price": 1}'


@pytest.fixture
def mock() -> MockUpstream:
    path = SHOP / "tests/generated/upstream.json"
    return MockUpstream(json.loads(path.read_bytes()))


def send(mock: MockUpstream, method: str, path: str, *headers: tuple[str, str], **more: Any) -> Any:
    request = HttpRequest(method, f"{BASE}{path}", headers, **more)
    return asyncio.run(mock.send(request))


def answer(response: HttpResponse) -> Any:
    return json.loads(response.body)


def test_a_valid_request_is_answered_with_the_example_and_recorded(mock: MockUpstream) -> None:
    response = send(mock, "POST", "/items", BASIC, JSON, ("Idempotency-Key", "a"), body=ITEM)

    assert response.status == 201
    assert answer(response) == {"id": 7, "name": "Lamp", "price": 12.5}
    (request,) = mock.requests
    assert (request.operation, request.problems, request.security) == (
        "POST /items",
        (),
        ("login",),
    )
    assert request.decoded.values("header") == {"Idempotency-Key": "a"}
    assert request.decoded.body is not None
    assert request.decoded.body.value == {"name": "Lamp", "price": 1}


def test_a_response_without_an_example_is_a_sample_without_write_only_properties(
    mock: MockUpstream,
) -> None:
    item = answer(send(mock, "GET", "/items/7", KEY))

    assert set(item) == {"id", "name", "price"}


def test_an_operation_without_content_returns_204(mock: MockUpstream) -> None:
    response = send(mock, "DELETE", "/items/7", ("Authorization", "Bearer t"))

    assert (response.status, response.body) == (204, b"")


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "problem"),
    [
        ("GET", "/item/7", [KEY], None, 404, "no operation of the document is `GET /v1/item/7`"),
        ("PATCH", "/items/7", [KEY], None, 404, "no operation"),
        ("GET", "/items/seven", [KEY], None, 400, 'path parameter `itemId`: "seven" is not of'),
        ("GET", "/items/0", [KEY], None, 400, "path parameter `itemId`: 0 is less"),
        ("GET", "/items/7?field=id", [KEY], None, 400, "query parameter `field` is not described"),
        ("GET", "/items/7?fields=id,id", [KEY], None, 400, "query parameter `fields`: "),
        ("GET", "/items/7", [KEY, ("X-Other", "1")], None, 400, "header `X-Other` is not"),
        ("GET", "/items/7", [KEY, ("Cookie", "theme=red")], None, 400, "cookie parameter `theme`"),
        ("GET", "/items/7", [], None, 401, "`key`: no credential was sent in header `x-key`"),
        ("GET", "/items/7", [KEY, BASIC], None, 400, "header `Authorization` is not described"),
        ("GET", "/items/7", [KEY, JSON], b"{}", 400, "a body was sent, and the operation has none"),
        ("POST", "/items", [BASIC], None, 400, "a body is required and was not sent"),
        ("POST", "/items", [BASIC], ITEM, 400, "body: it was sent without `Content-Type`"),
        ("POST", "/items", [BASIC, ("Content-Type", "text/plain")], ITEM, 400, "`text/plain`"),
        ("POST", "/items", [BASIC, JSON], b"{", 400, "body: it is not JSON"),
        ("POST", "/items", [BASIC, JSON], b"{}", 400, 'body: "name" is a required property'),
        ("POST", "/items", [("Authorization", "Basic ?"), JSON], ITEM, 401, "is not base64"),
        ("POST", "/items", [("Authorization", "Bearer x"), JSON], ITEM, 401, "scheme `basic`"),
        ("PUT", "/items/7", [KEY, JSON], ITEM, 401, "`session`: no credential was sent in cookie"),
    ],
)  # fmt: skip
def test_an_invalid_request_is_rejected_with_the_reason(
    mock: MockUpstream,
    method: str,
    path: str,
    headers: list[tuple[str, str]],
    body: bytes | None,
    status: int,
    problem: str,
) -> None:
    response = send(mock, method, path, *headers, body=body)

    assert response.status == status
    assert problem in answer(response)["detail"]
    assert problem in "; ".join(mock.requests[0].problems)


def test_a_read_only_property_in_a_request_is_rejected(mock: MockUpstream) -> None:
    response = send(
        mock, "POST", "/items", BASIC, JSON, body=b'{"name": "Lamp", "price": 1, "id": 7}'
    )

    assert response.status == 400
    assert "'id'" in answer(response)["detail"]


def test_another_host_is_an_unknown_route(mock: MockUpstream) -> None:
    request = HttpRequest("GET", "https://us.shop.example/v1/items/7", (KEY,))

    assert asyncio.run(mock.send(request)).status == 404


def test_configured_secrets_must_match(mock: MockUpstream) -> None:
    mock.secrets = {"key": {"value": "k1"}, "login": {"username": "ann", "password": "wrong"}}

    assert send(mock, "GET", "/items/7", KEY).status == 200
    assert send(mock, "GET", "/items/7", ("X-Key", "k2")).status == 401
    assert send(mock, "POST", "/items", BASIC, JSON, body=ITEM).status == 401


def test_a_credential_sent_to_a_public_operation_is_rejected(mock: MockUpstream) -> None:
    mock.secrets = {"key": {"value": "k1"}}

    response = send(mock, "GET", "/items", KEY)

    assert response.status == 401
    assert "`key`: a credential was sent that this operation does not" in answer(response)["detail"]


def test_an_optional_credential_can_be_sent_or_omitted(mock: MockUpstream) -> None:
    assert send(mock, "GET", "/items").status == 200
    assert send(mock, "GET", "/items?api_key=a").status == 200
    assert [request.security for request in mock.requests] == [(), ("query_key",)]


def test_reply_can_be_overridden_for_one_operation(mock: MockUpstream) -> None:
    mock.reply_with(Reply(status=404), "GET /items/{itemId}")
    assert send(mock, "GET", "/items/7", KEY).header("Content-Type") == "application/problem+json"
    assert send(mock, "GET", "/items").status == 200

    mock.reply_with(Reply(status=503, headers=(("Retry-After", "2"),)))
    response = send(mock, "GET", "/items")
    assert (response.status, response.header("Retry-After")) == (503, "2")

    mock.forget()
    assert send(mock, "GET", "/items").status == 200
    assert len(mock.requests) == 1


def test_a_reply_can_be_malformed_or_break_the_connection(mock: MockUpstream) -> None:
    mock.reply_with(Reply(fault="json"))
    with pytest.raises(json.JSONDecodeError):
        answer(send(mock, "GET", "/items/7", KEY))

    mock.reply_with(Reply(fault="connection"))
    with pytest.raises(DisconnectedError):
        send(mock, "GET", "/items/7", KEY)


def test_a_reply_is_loaded_from_a_case(mock: MockUpstream) -> None:
    mock.reply_with(Reply.from_json({"status": 200, "body": [1], "headers": {"X-A": "b"}}))

    response = send(mock, "GET", "/items")

    assert (answer(response), response.header("x-a")) == ([1], "b")


def test_a_reply_above_the_size_limit_of_the_request_raises(mock: MockUpstream) -> None:
    with pytest.raises(ResponseTooLargeError):
        send(mock, "GET", "/items/7", KEY, max_response_bytes=3)


def test_an_invalid_request_is_rejected_despite_a_configured_reply(
    mock: MockUpstream,
) -> None:
    mock.reply_with(Reply(status=200))

    assert send(mock, "GET", "/items/7").status == 401


@pytest.mark.parametrize(
    "media_type", ["application/x-www-form-urlencoded", "application/x-yaml", "text/plain"]
)
def test_media_types_of_text_are_answered_with_text(media_type: str) -> None:
    content = [{"media_type": media_type, "schema": {"type": "object"}}]
    operation = {"method": "GET", "path": "/a", "servers": [], "parameters": []}
    operation["responses"] = [{"status": "200", "content": content}]
    mock = MockUpstream({"servers": [{"url": BASE}], "operations": [operation]})

    assert send(mock, "GET", "/a").body == b"{}"


def test_a_concrete_path_takes_precedence_over_a_template() -> None:
    paths = ("/a/{x}", "/a/mine", "/{x}/mine", "/a/{x}?op=b")
    operations = [{"method": "GET", "path": path, "servers": []} for path in paths]
    for operation in operations:
        operation["parameters"] = [
            {"name": "x", "location": "path", "required": True, "schema": {}, "style": "simple"}
        ] * ("{x}" in str(operation["path"]))
    mock = MockUpstream({"servers": [{"url": BASE}], "operations": operations})

    for path in ("/a/mine", "/a/7", "/b/mine", "/a/7?op=b"):
        send(mock, "GET", path)

    assert [request.operation for request in mock.requests] == [
        "GET /a/mine",
        "GET /a/{x}",
        "GET /{x}/mine",
        "GET /a/{x}?op=b",
    ]


def test_the_http_mock_server_decodes_the_same_requests(mock: MockUpstream) -> None:
    async def talk() -> None:
        base_url = await mock.start()
        assert base_url.endswith("/v1")
        try:
            async with aiohttp.ClientSession(base_url=f"{base_url}/") as session:
                async with session.get("items/7?fields=id,name", headers=[KEY]) as response:
                    assert response.status == 200
                async with session.put("nowhere", data=io.BytesIO(b"x" * 3_000_000)) as response:
                    assert response.status == 404
                mock.reply_with(Reply(fault="connection"))
                with pytest.raises(aiohttp.ServerDisconnectedError):
                    await session.get("items/7", headers=[KEY])
        finally:
            await mock.stop()

    asyncio.run(asyncio.wait_for(talk(), 20))

    first, second, *_ = mock.requests
    assert first.decoded.values("query") == {"fields": ["id", "name"]}
    assert len(second.body) == 3_000_000

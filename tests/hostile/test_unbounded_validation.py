"""Tests of schemas and values whose evaluation takes exponential time or gigabytes of memory.

Each attack is an argument of a client, or a response of the API, over HTTP and stdio.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    ANSWER_SECONDS,
    MAX_GROWTH_MB,
    MODERN,
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_stdio,
)

NO_LOCATION = "does not match its schema; too deep or too large to report the location"
TOO_COMPLEX = "is too complex to validate"


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def branch(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def group(operator: str) -> dict[str, Any]:
    return branch(op={"const": operator}, args={"type": "array", "items": ref("Filter")})


COMPONENTS: dict[str, Any] = {
    "Twins": {
        "anyOf": [
            {"type": "object", "properties": {"a": ref("Twins"), "b": {"type": "integer"}}},
            {"type": "object", "properties": {"a": ref("Twins"), "c": {"type": "integer"}}},
            {"type": "string"},
        ]
    },
    "Filter": {
        "anyOf": [
            group("and"),
            group("or"),
            group("not"),
            branch(field={"type": "string"}, value={"type": "string"}),
        ]
    },
    "Wide": {"allOf": [{"properties": {"a": ref("Wide")}}] * 2, "type": "object"},
}
ARGUMENTS: dict[str, Any] = {
    "twins": ref("Twins"),
    "filter": ref("Filter"),
    "wide": ref("Wide"),
    "look_around": {"type": "string", "pattern": "(?=.*z)a.*b.*c"},
    "back_reference": {
        "type": "array",
        "items": {"anyOf": [{"pattern": r"^(?:(a)|(aa)|a(?=a))*\1b$"}, {"type": "string"}]},
    },
    "fractions": {
        "type": "array",
        "items": {"anyOf": [{"multipleOf": 1e-300}, {"type": "number"}]},
    },
    "unique": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    "options": {
        "type": "array",
        "items": {"anyOf": [{"enum": list(range(1000))}, {"type": "number"}]},
    },
    "long_text": {"anyOf": [{"type": "integer", "maximum": n} for n in range(50)]},
}


def nested(leaf: Any, levels: int) -> Any:
    for _ in range(levels):
        leaf = {"a": leaf}
    return leaf


def deep_filter(leaf: Any, levels: int) -> Any:
    for level in range(levels):
        leaf = {"args": [leaf], "op": ("and", "or", "not")[level % 3]}
    return leaf


RIGHT_LEAF = {"field": "name", "value": "x"}
WRONG_LEAF = {"field": "name", "value": 1}
ATTACKS: dict[str, tuple[str, Any, str]] = {
    "recursive alternatives": ("twins", nested(1, 60), NO_LOCATION),
    "an honest filter with a wrong leaf": ("filter", deep_filter(WRONG_LEAF, 14), NO_LOCATION),
    "recursive conjunction": ("wide", nested(1, 60), NO_LOCATION),
    "look-around in a long text": ("look_around", "a" * 300_000, ""),
    "back references in many texts": ("back_reference", ["a" * 40 + "!"] * 60_000, ""),
    "fractions of huge numbers": ("fractions", [1e308] * 30_000, TOO_COMPLEX),
    "different integers of 20 digits": (
        "unique",
        [10**20 + number for number in range(20_000)],
        TOO_COMPLEX,
    ),
    "numbers that are compared one by one": ("options", [999.0] * 50_000, TOO_COMPLEX),
    "a long text for many alternatives": ("long_text", "x" * 3_000_000, NO_LOCATION),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    body = {"type": "object", "properties": ARGUMENTS, "additionalProperties": False}
    search = operation(
        "search", requestBody={"required": True, "content": {"application/json": {"schema": body}}}
    )
    tree = operation("getTree", schema={"type": "object", "properties": {"tree": ref("Twins")}})
    paths = {"/search": {"post": search}, "/tree": {"get": tree}}
    return generate(tmp_path_factory.mktemp("bounds"), api_document(paths, {"schemas": COMPONENTS}))


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    async def answer_deeply(exchange: Exchange) -> None:
        await exchange.answer({"tree": nested(1, 60)})

    async def answer(exchange: Exchange) -> None:
        await exchange.answer({"found": 1})

    with HostileApi() as api:
        api.on("/tree", answer_deeply)
        api.on("/search", answer)
        yield api


def under_attack(server: AttackedServer, tool: str, arguments: dict[str, Any]) -> Any:
    """Call a tool while a bystander is served; return the result."""
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        started = time.monotonic()
        answer = client.call_tool(tool, arguments)
        assert time.monotonic() - started < ANSWER_SECONDS
        due = time.monotonic() + ANSWER_SECONDS
        while bystander.rounds < 2 and time.monotonic() < due:
            time.sleep(0.02)
    bystander.check()
    return answer["result"]


@pytest.mark.parametrize(("name", "value", "expected"), ATTACKS.values(), ids=list(ATTACKS))
def test_a_slow_argument_is_rejected_immediately(
    server: AttackedServer, api: HostileApi, name: str, value: Any, expected: str
) -> None:
    sent_before = api.requests["/search"]
    result = under_attack(server, "search", {name: value})
    assert result["isError"]
    assert expected in result["content"][0]["text"]
    assert expected != NO_LOCATION or f"`/{name}`" in result["content"][0]["text"]
    assert len(result["content"][0]["text"]) < 400
    assert api.requests["/search"] == sent_before


def test_a_deep_argument_that_is_valid_is_sent(server: AttackedServer, api: HostileApi) -> None:
    value = deep_filter(RIGHT_LEAF, 30)
    result = under_attack(server, "search", {"filter": value})
    assert "isError" not in result, result
    sent = [it for it in api.exchanges if it.target == "/search"]
    assert json.loads(sent[-1].body) == {"filter": value}


def test_a_response_that_is_too_deep_to_adapt_is_returned_as_text(server: AttackedServer) -> None:
    result = under_attack(server, "get_tree", {})
    assert result["structuredContent"] == {}
    assert json.loads(result["content"][0]["text"]) == {"tree": nested(1, 60)}
    assert "the structured content is empty" in result["content"][1]["text"]


@pytest.mark.parametrize("attack", ["recursive alternatives", "an honest filter with a wrong leaf"])
def test_a_slow_argument_is_rejected_immediately_over_stdio(project: Path, attack: str) -> None:
    name, value, expected = ATTACKS[attack]
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with serve_stdio(project, {f"{PREFIX}BASE_URL": "http://127.0.0.1:9"}) as server:
        assert server.process.stdin is not None
        assert server.process.stdout is not None
        for arguments in (
            {"twins": 1},
            {name: value},
        ):  # the first call imports what calls need
            started = time.monotonic()
            params = {"name": "search", "arguments": arguments, "_meta": meta}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            server.process.stdin.write(json.dumps(message).encode() + b"\n")
            server.process.stdin.flush()
            result = json.loads(server.process.stdout.readline())["result"]
        assert time.monotonic() - started < ANSWER_SECONDS
        assert expected in result["content"][0]["text"]
        assert server.growth_mb < MAX_GROWTH_MB
        assert server.is_alive

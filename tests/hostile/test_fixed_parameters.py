"""Tests that no argument overrides parameters that are fixed, hidden or carry a credential.

An exploded object sends each member as a parameter, so `filter={"tenant": …}` would send `tenant`
twice. Headers by which proxies route requests do not become arguments.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mcpgen.plan.tools.own_arguments import CONTINUATION
from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
)
from tests.support.generated_files import listed_tools

FREE = {"type": "object", "additionalProperties": True}
TEXT = {"type": "string"}
SPELLINGS = (
    "tenant", "Tenant", "TENANT", "tenant[]", "tenant[0]", "tenant%00", "tenant\x00.x", "%74enant",
    "%2574enant", "tenant ", " tenant", "\uff54enant", "ten\u200bant", "ten\u00adant",
)  # fmt: skip
OTHERS = ("secret_mode", "Secret_Mode[]", "api_key", "API_KEY", "api.key", "sort", "sort[]", "mode")
HARMLESS = ("tenants", "color", "filter", "ten", "x[tenant]")
MANIFEST = """
operations:
  getExploded:
    parameters: {tenant: {fixed: ours}, secret_mode: {hidden: true}}
  getDeep:
    parameters: {tenant: {fixed: ours}}
  getCookies:
    parameters: {tenant: {fixed: ours}}
  postForm:
    name: post_form
    parameters: {body.tenant: {fixed: ours}, body.secret_mode: {hidden: true}}
  postParts:
    name: post_parts
    parameters: {body.tenant: {fixed: ours}, body.secret_mode: {hidden: true}}
  postJson:
    name: post_json
    parameters: {body.tenant: {fixed: ours}}
"""


def parameter(name: str, location: str, schema: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "schema": schema, **others}


def body(media_type: str, **encoding: Any) -> dict[str, Any]:
    properties = {"tenant": TEXT, "secret_mode": TEXT, "filter": FREE, "sort": TEXT}
    schema = {"type": "object", "properties": properties, "additionalProperties": True}
    content: dict[str, Any] = {"schema": schema}
    if encoding:
        content["encoding"] = encoding
    return {"required": True, "content": {media_type: content}}


def document() -> dict[str, Any]:
    tenant = parameter("tenant", "query", TEXT)
    styled = {"style": "form", "explode": True}
    form = "application/x-www-form-urlencoded"
    paths = {
        "/exploded?mode=safe": {
            "get": operation(
                "getExploded",
                parameters=[
                    tenant,
                    parameter("secret_mode", "query", TEXT),
                    parameter("sort", "query", TEXT),
                    parameter("filter", "query", FREE, **styled),
                ],
            )
        },
        "/deep": {
            "get": operation(
                "getDeep",
                parameters=[tenant, parameter("filter", "query", FREE, style="deepObject")],
            )
        },
        "/cookies": {
            "get": operation(
                "getCookies",
                parameters=[
                    parameter("tenant", "cookie", TEXT),
                    parameter("filter", "cookie", FREE, **styled),
                ],
            )
        },
        "/matrix/{tenant}/{filter}": {
            "get": operation(
                "getMatrix",
                parameters=[
                    parameter("tenant", "path", TEXT, required=True, style="matrix"),
                    parameter("filter", "path", FREE, required=True, style="matrix", explode=True),
                ],
            )
        },
        "/form": {"post": operation("postForm", requestBody=body(form, filter=styled))},
        "/parts": {
            "post": operation("postParts", requestBody=body("multipart/form-data", filter=styled))
        },
        "/json": {"post": operation("postJson", requestBody=body("application/json"))},
    }
    key = {"type": "apiKey", "in": "query", "name": "api_key"}
    return {
        **api_document(paths, {"securitySchemes": {"key": key}}),
        "security": [{"key": []}, {}],
    }


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer({"ok": True})

    with HostileApi() as api:
        for path in ("/exploded", "/deep", "/cookies", "/form", "/parts", "/json"):
            api.on(path, answer)
        yield api


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = generate(tmp_path_factory.mktemp("fixed"), document())
    manifest = target / "mcpgen.yaml"
    text = manifest.read_text()
    manifest.write_text(text.partition("\n# Changes that")[0] + MANIFEST)
    return bring_up_to_date(target)


def bring_up_to_date(target: Path) -> Path:
    command = [sys.executable, "-m", "mcpgen", "generate", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


@pytest.fixture(scope="module")
def server(project: Path, api: HostileApi) -> Iterator[AttackedServer]:
    environ = {f"{PREFIX}BASE_URL": api.base_url, f"{PREFIX}KEY": "of-the-operator"}
    with serve_http(project, environ) as server, Bystander(server) as bystander:
        yield server
        due = time.monotonic() + 30
        while bystander.rounds < 3 and time.monotonic() < due:
            time.sleep(0.02)
        bystander.__exit__(None, None, None)
        bystander.check()


def call(server: AttackedServer, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Call a tool; return whether the arguments were rejected, and the response as text."""
    with HttpClient(server.port) as client:
        answer = client.call_tool(tool, arguments)
    is_refused = "error" in answer or answer["result"].get("isError", False)
    return is_refused, json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("name", [*SPELLINGS, *OTHERS])
def test_an_exploded_object_cannot_override_a_query_parameter(
    server: AttackedServer, api: HostileApi, name: str
) -> None:
    before = len(api.exchanges)
    is_refused, text = call(server, "get_exploded", {"filter": {"color": "red", name: "theirs"}})
    assert is_refused, text
    assert "`/filter/" in text
    assert not [it for it in api.exchanges[before:] if it.target.startswith("/exploded")]


@pytest.mark.parametrize("name", HARMLESS)
def test_other_members_of_an_exploded_object_are_sent(
    server: AttackedServer, api: HostileApi, name: str
) -> None:
    is_refused, text = call(server, "get_exploded", {"filter": {name: "x"}, "sort": "up"})
    assert not is_refused, text
    sent = [it for it in api.exchanges if it.target.startswith("/exploded")][-1]
    pairs = parse_qsl(urlsplit(sent.target).query)
    assert sorted(pairs) == sorted(
        [
            ("mode", "safe"),
            ("tenant", "ours"),
            ("sort", "up"),
            (name, "x"),
            ("api_key", "of-the-operator"),
        ]
    )


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(("tool", "path"), [("get_cookies", "/cookies"), ("get_matrix", "/matrix")])
def test_cookies_and_path_parameters_are_not_overridden(
    server: AttackedServer, api: HostileApi, tool: str, path: str, name: str
) -> None:
    before = len(api.exchanges)
    others = {"tenant": "ours"} if path == "/matrix" else {}
    is_refused, text = call(server, tool, {"filter": {name: "theirs"}, **others})
    assert is_refused, text
    assert "`/filter/" in text
    assert not [it for it in api.exchanges[before:] if it.target.startswith(path)]


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(("tool", "path"), [("post_form", "/form"), ("post_parts", "/parts")])
@pytest.mark.parametrize("is_nested", [False, True], ids=["a field", "a member of a field"])
def test_fields_of_forms_are_not_overridden(
    server: AttackedServer, api: HostileApi, tool: str, path: str, name: str, is_nested: bool
) -> None:
    before = len(api.exchanges)
    given = {"filter": {name: "theirs"}} if is_nested else {name: "theirs"}
    is_refused, text = call(server, tool, {"body": {"sort": "up", **given}})
    assert is_refused, text
    assert "`/body" in text
    assert not [it for it in api.exchanges[before:] if it.target == path]


@pytest.mark.parametrize("name", ["Tenant", "TENANT", "\uff54enant"])
def test_json_members_cannot_be_overridden_by_other_spellings(
    server: AttackedServer, name: str
) -> None:
    is_refused, text = call(server, "post_json", {"body": {name: "theirs"}})
    assert is_refused, text
    assert "`/body" in text


def test_a_deep_object_cannot_override_a_parameter(server: AttackedServer, api: HostileApi) -> None:
    is_refused, text = call(server, "get_deep", {"filter": {"tenant": "x"}})
    assert not is_refused, text
    sent = [it for it in api.exchanges if it.target.startswith("/deep")][-1]
    pairs = parse_qsl(urlsplit(sent.target).query)
    assert ("filter[tenant]", "x") in pairs
    assert ("tenant", "ours") in pairs


STEERING = (
    "X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "X-Original-URL",
    "X-Rewrite-URL", "X-Original-Host", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP",
    "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "Forwarded", "Via", "X-Host",
    "Proxy-Authorization", "X-Remote-User",
)  # fmt: skip


def test_headers_that_control_proxies_and_servers_are_not_arguments(
    tmp_path: Path, api: HostileApi
) -> None:
    headers = [parameter(name, "header", TEXT) for name in (*STEERING, "X-Trace")]
    headers.append(parameter("_method", "query", TEXT))
    paths = {"/json": {"get": operation("getJson", parameters=headers)}}
    target = generate(tmp_path, api_document(paths))

    assert arguments_of(target, "get_json") == {"x_trace", "method", CONTINUATION}
    environ = {f"{PREFIX}BASE_URL": api.base_url}
    with serve_http(target, environ) as server, HttpClient(server.port) as client:
        for name in ("x_real_ip", "X-Real-IP", "x_http_method_override"):
            answer = json.dumps(client.call_tool("get_json", {name: "127.0.0.1"}))
            assert "Invalid" in answer or "invalid" in answer or "arguments" in answer

    manifest = target / "mcpgen.yaml"
    text = manifest.read_text().partition("\n# Changes that")[0]
    manifest.write_text(
        f'{text}\noperations: {{"GET /json": {{parameters: {{x_real_ip: {{hidden: false}},'
        " x_forwarded_for: {hidden: false}}}}\n"
    )
    bring_up_to_date(target)
    shown = {"x_trace", "method", "x_real_ip", "x_forwarded_for"}
    assert arguments_of(target, "get_json") == {*shown, CONTINUATION}


def arguments_of(target: Path, tool: str) -> set[str]:
    listed = {entry["name"]: entry for entry in listed_tools(target)}
    return set(listed[tool]["inputSchema"]["properties"])

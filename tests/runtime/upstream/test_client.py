"""Tests of one request, from a handler's values to the bytes sent, and back to a value."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import pytest
from msgspec import convert

from mcpgen.absent import ABSENT
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.media import Media
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials
from mcpgen.runtime.upstream.client import assemble
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    MalformedResponseError,
    OverloadedError,
    TimeoutExceededError,
    UpstreamStatusError,
)
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.request.building import RequestParts
from mcpgen.runtime.upstream.request.rules import RequestRules

JSON = (("Content-Type", "application/json; charset=utf-8"),)
PROBLEM = (("Content-Type", "application/problem+json"),)


def parameter(location: str, name: str, style: str = "", explode: bool = False) -> dict[str, Any]:
    default = {"path": "simple", "header": "simple"}.get(location, "form")
    return {
        "in": location,
        "name": name,
        "argument": name.lower().replace("-", "_"),
        "style": style or default,
        "explode": explode,
    }


@pytest.fixture
def rules() -> RequestRules:
    return convert(
        {
            "method": "PATCH",
            "path": "/pets/{petId}",
            "parameters": [
                parameter("path", "petId"),
                parameter("query", "tag", explode=True),
                parameter("query", "filter", "form", True),
                parameter("header", "X-Trace"),
                parameter("cookie", "flavour"),
            ],
            "body": {
                "argument": "body",
                "media_types": [
                    {"media_type": "application/json"},
                    {"media_type": "application/merge-patch+json"},
                ],
                "content_type_argument": "content_type",
            },
            "accept": ["application/json"],
        },
        RequestRules,
    )


@pytest.fixture
def get_rules() -> RequestRules:
    return convert({"method": "GET", "path": "/pets", "accept": ["application/json"]}, RequestRules)


def test_each_argument_is_sent_in_its_own_location(make_client, upstream, rules, run) -> None:
    api = make_client().bind("update_pet", rules)
    run(
        api.request(
            "PATCH",
            "/pets/{petId}",
            path_params={"petId": "a/b"},
            query={"tag": ["x", "y z"]},
            headers={"X-Trace": "t1"},
            cookies={"flavour": "oat meal"},
            body={"name": None},
            returns=dict,
        )
    )
    request = upstream.only_request
    assert request.method == "PATCH"
    assert request.url == "https://petstore.example/v1/pets/a%2Fb?tag=x&tag=y%20z"
    assert dict(request.headers) == {
        "X-Trace": "t1",
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Cookie": "flavour=oat%20meal",
    }
    assert request.body == b'{"name":null}'


def test_absent_values_are_not_sent_and_empty_ones_are(make_client, upstream, rules, run) -> None:
    api = make_client().bind("update_pet", rules)
    run(
        api.request(
            "PATCH",
            "/pets/{petId}",
            path_params={"petId": 0},
            query={"tag": ABSENT, "filter": ""},
            headers={"X-Trace": ABSENT},
            cookies={"flavour": ABSENT},
            body=ABSENT,
            content_type=ABSENT,
            returns=dict,
        )
    )
    assert upstream.only_request.url == "https://petstore.example/v1/pets/0?filter="
    assert dict(upstream.only_request.headers) == {"Accept": "application/json"}
    assert upstream.only_request.body is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [(None, b"null"), ([], b"[]"), (False, b"false"), ("", b'""'), (0, b"0"), ({}, b"{}")],
)
def test_falsy_bodies_are_sent(make_client, upstream, rules, run, body, expected) -> None:
    api = make_client().bind("update_pet", rules)
    run(api.request("PATCH", "/pets/{petId}", path_params={"petId": 1}, body=body, returns=dict))
    assert upstream.only_request.body == expected


def test_selected_media_type_is_sent(make_client, upstream, rules, run) -> None:
    api = make_client().bind("update_pet", rules)
    run(
        api.request(
            "PATCH",
            "/pets/{petId}",
            path_params={"petId": 1},
            body={},
            content_type="application/merge-patch+json",
            returns=dict,
        )
    )
    assert ("Content-Type", "application/merge-patch+json") in upstream.only_request.headers


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"path_params": {"petId": ".."}}, "`/petid` must not have `.` or `..`"),
        ({"headers": {"X-Trace": "a\r\nb"}}, "`/x_trace` must have only visible ASCII"),
        ({"cookies": {"flavour": "a\nb"}}, "`/flavour` must not have control characters"),
        ({"query": {"tag": "\ud800"}}, "`/tag` has a lone surrogate"),
        ({"body": {"a": "\ud800"}}, "`/body` has a lone surrogate"),
        ({"body": {}, "content_type": "text/xml"}, "`/content_type` must be one of"),
    ],
)
def test_an_unsendable_value_is_reported_with_its_argument_and_nothing_is_sent(
    make_client, upstream, rules, run, values, problem
) -> None:
    api = make_client().bind("update_pet", rules)
    values = {"path_params": {"petId": 1}} | values
    with pytest.raises(InvalidArgumentsError) as refusal:
        run(api.request("PATCH", "/pets/{petId}", **values, returns=dict))
    assert refusal.value.problems[0].startswith(problem)
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("method", "path", "values"),
    [
        ("POST", "/pets/{petId}", {}),
        ("PATCH", "/pets", {}),
        ("PATCH", "/pets/{petId}", {}),
        ("PATCH", "/pets/{petId}", {"path_params": {"petId": 1, "x": 2}}),
        ("PATCH", "/pets/{petId}", {"path_params": {"petId": 1}, "query": {"x": 2}}),
        ("PATCH", "/pets/{petId}", {"path_params": {"petId": 1}, "querystring": "x"}),
    ],
)
def test_a_call_that_departs_from_its_contract_is_a_configuration_error(
    make_client, upstream, rules, run, method, path, values
) -> None:
    with pytest.raises(ConfigurationError):
        run(make_client().bind("update_pet", rules).request(method, path, **values, returns=dict))
    assert upstream.requests == []


@pytest.mark.parametrize(
    "name", ["Host", "authorization", "Content-Length", "Proxy-Foo", "a b", ""]
)
def test_a_header_that_controls_the_connection_is_rejected_at_load(name: str) -> None:
    with pytest.raises(ConfigurationError):
        convert(
            {"method": "GET", "path": "/", "parameters": [parameter("header", name)]}, RequestRules
        )


# Base URL


@pytest.mark.parametrize(
    ("servers", "environ", "expected"),
    [
        ([{"url": "https://a.example/v1/"}], {}, "https://a.example/v1"),
        ([{"url": "https://a.example"}], {}, "https://a.example"),
        (
            [{"url": "https://{region}.a.example", "variables": {"region": {"default": "eu"}}}],
            {},
            "https://eu.a.example",
        ),
        (
            [
                {
                    "url": "https://{myRegion}.a.example",
                    "variables": {"myRegion": {"default": "eu", "enum": ["eu", "us"]}},
                }
            ],
            {"PETSTORE_SERVER_MY_REGION": "us"},
            "https://us.a.example",
        ),
        (
            [{"url": "https://a.example"}],
            {"PETSTORE_BASE_URL": " http://127.0.0.1:8080/x/ "},
            "http://127.0.0.1:8080/x",
        ),
        ([], {"PETSTORE_BASE_URL": "http://[::1]:80"}, "http://[::1]:80"),
    ],
)
def test_the_configured_base_url_takes_precedence_over_the_document(
    make_client, contract, upstream, get_rules, run, servers, environ, expected
) -> None:
    contract["servers"] = servers
    contract["environment"] = [{"name": "PETSTORE_SERVER_MY_REGION"}]
    run(make_client(environ).bind("list_pets", get_rules).request("GET", "/pets", returns=dict))
    assert upstream.only_request.url == f"{expected}/pets"


@pytest.mark.parametrize(
    ("servers", "environ", "variable"),
    [
        ([], {}, "PETSTORE_BASE_URL"),
        ([{"url": "/v1"}], {}, "PETSTORE_BASE_URL"),
        ([{"url": "https://{h}.example"}], {}, "PETSTORE_SERVER_H"),
        (
            [{"url": "https://{h}", "variables": {"h": {"default": "a", "enum": ["a"]}}}],
            {"PETSTORE_SERVER_H": "evil.example"},
            "PETSTORE_SERVER_H",
        ),
        ([{"url": "ftp://a.example"}], {}, "PETSTORE_BASE_URL"),
        ([{"url": "https://user:pw@a.example"}], {}, "PETSTORE_BASE_URL"),
        ([{"url": "https://a.example/../x"}], {}, "PETSTORE_BASE_URL"),
        ([{"url": "https://a.example/v1?x=1"}], {}, "PETSTORE_BASE_URL"),
    ],
)
def test_an_unusable_base_url_reports_the_variable_to_set(
    make_client, contract, upstream, get_rules, run, servers, environ, variable
) -> None:
    contract["servers"] = servers
    with pytest.raises(ConfigurationError, match=variable):
        run(make_client(environ).bind("t", get_rules).request("GET", "/pets", returns=dict))
    assert upstream.requests == []


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc",
            "http://",
            "http://u@h",
            "http://h/#x",
            "a b",
            "https://:443",
            "api.example",
        ),
        *("https://a.example:99999", "https://a.example:0", "https://a.example:x", "https://a/b c"),
        *("https://a.example\r\nX: y", "https://a.example/\x7f", "https://[::1", "https://[::g]"),
        *("https://::1/", "https://a..b", f"https://{'a' * 64}.example", f"https://{'a.' * 127}aa"),
        *("https://b\u00fccher.example", "https://%zz/", "https://a.example?x=1", "https://a\\x"),
    ],
)
def test_a_malformed_base_url_setting_is_rejected_at_start(make_client, url) -> None:
    with pytest.raises(ConfigurationError, match="PETSTORE_BASE_URL"):
        make_client({"PETSTORE_BASE_URL": url})


def test_a_base_url_with_a_user_or_password_is_rejected(make_client) -> None:
    with pytest.raises(ConfigurationError, match="must not have a user or a password") as error:
        make_client({"PETSTORE_BASE_URL": "https://ann:canary@a.example"})
    assert "canary" not in str(error.value)


def test_servers_of_an_operation_take_precedence_unless_one_is_configured(
    make_client, upstream, run
) -> None:
    own = convert(
        {"method": "GET", "path": "/up", "servers": [{"url": "https://up.example"}]}, RequestRules
    )
    run(make_client().bind("up", own).request("GET", "/up", returns=dict))
    run(
        make_client({"PETSTORE_BASE_URL": "http://localhost:1"})
        .bind("up", own)
        .request("GET", "/up", returns=dict)
    )
    assert [request.url for request in upstream.requests] == [
        "https://up.example/up",
        "http://localhost:1/up",
    ]


def test_the_query_of_a_path_template_is_kept_and_its_fragment_dropped(
    make_client, upstream, run
) -> None:
    path = "/?action=list all&id={id}&acl#v2"
    rules = convert(
        {"method": "GET", "path": path, "parameters": [parameter("query", "id")]}, RequestRules
    )
    run(make_client().bind("t", rules).request("GET", path, query={"id": 7}, returns=dict))
    assert upstream.only_request.url == "https://petstore.example/v1/?action=list%20all&acl&id=7"


# Answers


def answer(make_client, upstream, run, rules, response, returns=dict) -> Any:
    upstream.outcomes = (response,)
    return run(make_client().bind("list_pets", rules).request("GET", "/pets", returns=returns))


@pytest.mark.parametrize(
    ("headers", "body", "accept", "expected"),
    [
        (JSON, b'{"a":[1,null]}', ["application/json"], {"a": [1, None]}),
        ((("content-type", "application/hal+json"),), b"[]", ["application/json"], []),
        (JSON, b"\xef\xbb\xbf1", ["application/json"], 1),
        (JSON, b"", ["application/json"], None),
        (JSON, b"123456789012345678901234567890", [], 123456789012345678901234567890),
        ((("Content-Type", "text/plain"),), b'{"a":1}', ["application/json"], {"a": 1}),
        ((), b'{"a":1}', ["application/json"], {"a": 1}),
        ((), b"hello", ["application/json"], "hello"),
        ((), b"\xff\xfe", [], Media(b"\xff\xfe", "application/octet-stream")),
        ((("Content-Type", "text/csv; charset=latin-1"),), b"caf\xe9", ["text/csv"], "caf\u00e9"),
        (
            (("Content-Type", "text/plain; charset=nonsense"),),
            b"x",
            ["text/*"],
            Media(b"x", "text/plain", "It is text in an unsupported charset."),
        ),
        ((("Content-Type", "image/PNG"),), b"\x89P", ["image/png"], Media(b"\x89P", "image/png")),
        ((("Content-Type", "application/pdf"),), b"%P", ["*/*"], Media(b"%P", "application/pdf")),
        ((("Content-Type", "application/xml"),), b"<a/>", ["application/xml"], "<a/>"),
    ],
)
def test_a_response_is_decoded_by_its_media_type(
    make_client, upstream, run, headers, body, accept, expected
) -> None:
    rules = convert({"method": "GET", "path": "/pets", "accept": accept}, RequestRules)
    value = answer(make_client, upstream, run, rules, HttpResponse(200, headers, body))
    assert value == expected


def test_an_operation_without_a_return_type_returns_nothing(
    make_client, upstream, run, get_rules
) -> None:
    response = HttpResponse(200, (("Content-Type", "text/html"),), b"<p>")
    assert answer(make_client, upstream, run, get_rules, response, returns=None) is None


@pytest.mark.parametrize(
    ("headers", "body", "told"),
    [
        (JSON, b'{"a":', 'invalid JSON. It begins: {"a":'),
        (JSON, b"[" * 100_000, "nested too deeply"),
        ((("Content-Type", "text/html"),), b"<h1>Log in</h1>", "`text/html`, but `application/"),
        ((("Content-Type", "image/png"),), b"\x89", "`image/png`, but `application/json`"),
    ],
)
def test_an_unexpected_response_is_reported(
    make_client, upstream, run, get_rules, headers, body, told
) -> None:
    with pytest.raises(MalformedResponseError) as error:
        answer(make_client, upstream, run, get_rules, HttpResponse(200, headers, body))
    assert str(error.value).startswith("`GET /pets` answered 200 with ")
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("status", "headers", "body", "told"),
    [
        (
            404,
            PROBLEM,
            b'{"title":"No such pet","detail":"7 is unknown","status":404,"type":"about:blank"}',
            "`GET /pets` answered 404 Not Found: No such pet. 7 is unknown. Check the identifiers",
        ),
        (422, JSON, b'{"errors":[{"field":"name"}]}', '{"errors":[{"field":"name"}]}. Change the'),
        (400, JSON, b'{"title":"Bad","errors":["x"]}', '400 Bad Request: Bad. {"errors":["x"]}'),
        (500, (("Content-Type", "text/html"),), b"<h1>Tomcat</h1>", "Internal Server Error. The"),
        (409, (), b"taken", "answered 409 Conflict: taken. Read the current state"),
        (429, (("Retry-After", "7"),), b"", "Too Many Requests. Wait 7 seconds"),
        (429, (), b"", "Too many calls; wait"),
        (401, (), b"", "without a credential"),
        (599, (), b"", "answered 599. The error is in the API"),
        (302, (("Location", "http://10.0.0.1/"),), b"x", "redirects are not followed."),
    ],
)
def test_an_error_status_is_reported_with_reason_and_next_step(
    make_client, upstream, run, get_rules, status, headers, body, told
) -> None:
    with pytest.raises(UpstreamStatusError) as error:
        answer(make_client, upstream, run, get_rules, HttpResponse(status, headers, body))
    assert told in str(error.value)
    assert error.value.status == status
    assert "10.0.0.1" not in str(error.value)
    assert "Tomcat" not in str(error.value)


def test_an_error_text_is_truncated_and_cleaned(make_client, contract, upstream, run) -> None:
    contract["security_schemes"] = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    contract["environment"] = [{"name": "PETSTORE_KEY", "scheme": "key", "part": "value"}]
    rules = convert({"method": "GET", "path": "/", "security": [{"key": []}]}, RequestRules)
    echo = b"\x1b[31mkey hunter22-secret and eyJhbGciOiJI.eyJzdWIiOiIx.c2ln\x1b[0m " + b"x" * 5000
    upstream.outcomes = (HttpResponse(400, (("Content-Type", "text/plain"),), echo),)
    with pytest.raises(UpstreamStatusError) as error:
        run(
            make_client({"PETSTORE_KEY": "hunter22-secret"})
            .bind("t", rules)
            .request("GET", "/", returns=dict)
        )
    text = str(error.value)
    assert "hunter22" not in text
    assert "eyJ" not in text
    assert "\x1b" not in text
    assert "key *** and *** xxx" in text
    assert len(text) < 1200


@pytest.mark.parametrize(
    "failure", [ConnectError("could not be sent: x."), DisconnectedError("y.")]
)
def test_a_connection_failure_names_the_operation(
    make_client, upstream, run, get_rules, failure
) -> None:
    upstream.outcomes = (failure,)
    with pytest.raises(ToolError, match=r"^`GET /pets` (could not be sent: x|y)\.$"):
        run(make_client().bind("t", get_rules).request("GET", "/pets", returns=dict))
    assert len(upstream.requests) == 3


def test_whole_call_has_one_deadline(make_client, get_rules, run) -> None:
    async def never(request: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    client = make_client(deadline_seconds=0.01)
    client._send = never
    with pytest.raises(TimeoutExceededError, match=r"^`GET /pets` returned no complete answer"):
        run(client.bind("t", get_rules).request("GET", "/pets", returns=dict))


def test_exceeded_deadlines_open_the_circuit(make_client, upstream, get_rules, run) -> None:
    async def never(request: HttpRequest) -> HttpResponse:
        upstream.requests.append(request)
        await asyncio.Event().wait()
        raise AssertionError

    client = make_client(deadline_seconds=0.001)
    client._send = never

    async def many() -> None:
        for _ in range(20):
            with pytest.raises(TimeoutExceededError):
                await client.bind("t", get_rules).request("GET", "/pets", returns=dict)
        with pytest.raises(OverloadedError):
            await client.bind("t", get_rules).request("GET", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 20


def test_retries_of_all_calls_share_one_budget(make_client, upstream, get_rules, run) -> None:
    upstream.outcomes = (HttpResponse(503),)
    client = make_client()

    async def many() -> None:
        for _ in range(5):
            with pytest.raises(UpstreamStatusError):
                await client.bind("t", get_rules).request("GET", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 5 + 3


def test_a_get_is_retried_after_the_requested_delay(
    make_client, upstream, environment, run, get_rules
) -> None:
    upstream.outcomes = (
        HttpResponse(503, (("Retry-After", "2"),)),
        HttpResponse(502),
        HttpResponse(200, JSON, b"1"),
    )
    value = run(make_client().bind("t", get_rules).request("GET", "/pets", returns=int))
    assert value == 1
    assert environment.slept == [2.0, 0.2]


def test_a_post_is_retried_only_if_nothing_was_sent(make_client, upstream, run) -> None:
    rules = convert({"method": "POST", "path": "/pets"}, RequestRules)
    upstream.outcomes = (ConnectError("could not be sent."), HttpResponse(503))
    with pytest.raises(UpstreamStatusError):
        run(make_client().bind("t", rules).request("POST", "/pets", returns=dict))
    assert len(upstream.requests) == 2
    upstream.requests.clear()
    upstream.outcomes = (DisconnectedError("broke."),)
    with pytest.raises(DisconnectedError):
        run(make_client().bind("t", rules).request("POST", "/pets", returns=dict))
    assert len(upstream.requests) == 1


def test_a_retry_delay_beyond_the_deadline_is_reported_immediately(
    make_client, upstream, environment, run, get_rules
) -> None:
    upstream.outcomes = (HttpResponse(429, (("Retry-After", "3600"),)),)
    with pytest.raises(UpstreamStatusError) as error:
        run(make_client().bind("t", get_rules).request("GET", "/pets", returns=dict))
    assert error.value.retry_after_ms == 3_600_000
    assert environment.slept == []
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("https://petstore.example/v1", "pets"),
        ("https://petstore.example", ".evil.example/pets"),
        ("https://petstore.example", "@evil.example/pets"),
        ("https://petstore.example/v1", "/pets#x"),
    ],
)
def test_a_request_outside_of_the_base_url_is_not_sent(base_url, path) -> None:
    with pytest.raises(ConfigurationError, match="outside of the configured base URL"):
        assemble(base_url, RequestParts("t", "GET", path), AppliedCredentials())


@pytest.mark.parametrize(
    "outcome",
    [
        *(HttpResponse(status, JSON, b"[]") for status in (200, 404, 503)),
        ConnectError("refused"),
        MalformedResponseError("cut off"),
    ],
)
def test_requests_leave_no_reference_cycles(make_client, upstream, get_rules, run, outcome) -> None:
    """A reference cycle per request would keep its response until the next collection."""
    upstream.outcomes = (outcome,)
    request = make_client().bind("list_pets", get_rules).request

    async def call(times: int) -> None:
        for _ in range(times):
            with contextlib.suppress(ToolError):
                await request("GET", "/pets", returns=list)

    async def scenario() -> int:
        await call(5)
        gc.collect()
        gc.disable()
        try:
            await call(20)
            return gc.collect()
        finally:
            gc.enable()

    assert run(scenario()) < 20

"""Tests of lowering documents of all versions, including flawed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from tests.support.paths import SPECS


def keys(api: Any) -> list[str]:
    return [operation.key for operation in api.operations]


RESPONSES = {"204": {"description": "done"}}


def test_operations_are_sorted_by_tag_path_and_method(make: Any) -> None:
    paths = {
        "/b": {"post": {"tags": ["x"], "responses": RESPONSES}, "get": {"responses": RESPONSES}},
        "/a": {"get": {"tags": ["x"], "responses": RESPONSES}},
    }
    root = {**make.document(), "paths": paths}
    assert keys(make(root).api) == ["GET /b", "GET /a", "POST /b"]
    shuffled = {**root, "paths": dict(reversed(paths.items()))}
    assert keys(make(shuffled).api) == keys(make(root).api)


@pytest.mark.parametrize("tags", [0.5, 3, True, "pets", {"pets": 1}, None])
def test_tags_that_are_not_a_list_are_ignored(make: Any, tags: object) -> None:
    paths = {"/a": {"get": {"tags": tags, "responses": {}}}}
    (operation,) = make({**make.document(), "paths": paths}).api.operations
    assert operation.tags == ()


@pytest.mark.parametrize("schemes", [0.5, 3, True, "https", None])
def test_schemes_that_are_not_a_list_are_ignored(make: Any, schemes: object) -> None:
    root = {"swagger": "2.0", "info": {"title": "A", "version": "1"}, "host": "a.example"}
    api = make({**root, "schemes": schemes, "paths": {"/a": {"get": {"responses": {}}}}}).api
    assert [server.url for server in api.servers] == ["https://a.example"]


def test_operation_parameters_override_path_parameters(make: Any) -> None:
    def limit(schema_type: str) -> dict[str, Any]:
        return {"name": "limit", "in": "query", "schema": {"type": schema_type}}

    root = make.with_parameters(limit("integer"), path="/pets/{id}")
    identifier = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    root["paths"]["/pets/{id}"]["parameters"] = [limit("string"), identifier]
    (operation,) = make(root).api.operations
    assert [(item.location, item.name) for item in operation.parameters] == [
        ("path", "id"),
        ("query", "limit"),
    ]
    assert operation.parameters[1].schema == {"type": "integer"}


def test_reserved_and_framing_headers_are_not_parameters(make: Any) -> None:
    names = ["Accept", "content-type", "Authorization", "Host", "Transfer-Encoding", "X-Ok"]
    lowered = make(make.with_parameters(*({"name": name, "in": "header"} for name in names)))
    (operation,) = lowered.api.operations
    assert [item.name for item in operation.parameters] == ["X-Ok"]
    assert len(lowered.found("reserved-header")) == 3
    assert len(lowered.found("framing-header")) == 2


@pytest.mark.parametrize("part", ["with_body", "with_response"])
def test_an_unresolved_schema_skips_only_its_operation(
    make: Any, part: str, tmp_path: Path
) -> None:
    root = getattr(make, part)({"$ref": "#/components/schemas/Gone"}, method="put")
    root["paths"]["/ok"] = {"get": {"responses": RESPONSES}}
    file, problems = tmp_path / "api.json", Problems()
    file.write_text(json.dumps(root), encoding="utf-8")

    api = lower(resolve(load(str(file), problems), problems), problems)

    assert keys(api) == ["GET /ok"]
    (left,) = api.skipped
    assert (left.operation, left.code) == ("PUT /pets", "unresolved-ref")
    assert "#/components/schemas/Gone" in left.reason


def test_an_undeclared_path_variable_is_treated_as_a_string(make: Any) -> None:
    lowered = make(make.document(path="/pets/{petId}"))
    (operation,) = lowered.api.operations
    (parameter,) = operation.parameters
    assert (parameter.name, parameter.location, parameter.required) == ("petId", "path", True)
    assert len(lowered.found("missing-path-parameter")) == 1


def test_path_parameter_that_does_not_occur_is_dropped(make: Any) -> None:
    lowered = make(make.with_parameters({"name": "id", "in": "path", "required": True}))
    (operation,) = lowered.api.operations
    assert operation.parameters == ()
    assert lowered.found("unused-path-parameter")


def test_variables_in_the_query_of_a_path_are_query_parameters(make: Any) -> None:
    declared = {"name": "lat", "in": "path", "required": True, "schema": {"type": "number"}}
    lowered = make(make.with_parameters(declared, path="/now?latitude={lat}&units=metric#lat"))
    (operation,) = lowered.api.operations
    (parameter,) = operation.parameters
    assert (parameter.location, parameter.name) == ("query", "latitude")
    assert parameter.schema == {"type": "number"}
    assert operation.path == "/now?latitude={lat}&units=metric#lat"


def test_a_query_parameter_with_a_value_in_the_path_is_dropped(make: Any) -> None:
    declared = {"name": "beta", "in": "query", "schema": {"type": "boolean"}}
    (operation,) = make(make.with_parameters(declared, path="/pets?beta=true")).api.operations
    assert operation.parameters == ()


def test_a_path_without_a_leading_slash_is_skipped(make: Any) -> None:
    (left,) = make(make.document(path="pets")).api.skipped
    assert left.code == "path-template"


def test_webhooks_and_callbacks_are_not_operations(make: Any) -> None:
    callback = {"onEvent": {"{$request.body#/url}": {"post": {"responses": RESPONSES}}}}
    root = make.document({"callbacks": callback}, version="3.1.0")
    root["webhooks"] = {"new": {"post": {"responses": RESPONSES}}}
    assert keys(make(root).api) == ["GET /pets"]


def test_methods_of_3_2_are_served(make: Any) -> None:
    root = make.document(version="3.2.0", method="query")
    root["paths"]["/pets"]["additionalOperations"] = {"COPY": {"responses": RESPONSES}}
    assert keys(make(root).api) == ["COPY /pets", "QUERY /pets"]


def test_query_is_not_a_method_before_3_2(make: Any) -> None:
    assert keys(make(make.document(version="3.1.0", method="query")).api) == []


def test_a_querystring_parameter_of_3_2_is_one_parameter(make: Any) -> None:
    content = {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}
    parameter = {"name": "q", "in": "querystring", "content": content}
    (operation,) = make(make.with_parameters(parameter, version="3.2.0")).api.operations
    (lowered,) = operation.parameters
    assert lowered.location == "querystring"
    assert lowered.content_type == "application/x-www-form-urlencoded"


def test_siblings_of_a_path_item_reference_take_precedence(make: Any) -> None:
    root = make.document()
    root["paths"] = {"/a": {"$ref": "#/components/pathItems/A", "summary": "Own"}}
    shared = {"summary": "Shared", "get": {"responses": RESPONSES}}
    root["components"] = {"pathItems": {"A": shared}}
    (operation,) = make(root).api.operations
    assert (operation.key, operation.summary) == ("GET /a", "Own")


def test_a_reference_cycle_skips_its_path(make: Any) -> None:
    root = make.document()
    root["paths"]["/loop"] = {"$ref": "#/paths/~1loop"}
    lowered = make(root)
    assert keys(lowered.api) == ["GET /pets"]
    assert [left.code for left in lowered.api.skipped] == ["circular-ref"]


# Servers and security


def test_relative_server_is_resolved_against_the_document(make: Any) -> None:
    root = make.document(servers=[{"url": "../v2"}])
    assert make(root, "https://host.example/docs/api.json").api.servers[0].url == (
        "https://host.example/v2"
    )
    assert make(root).api.servers[0].url == "../v2"


def test_credentials_in_a_server_url_are_removed_and_reported(make: Any) -> None:
    lowered = make(make.document(servers=[{"url": "https://me:hush@api.example/v1"}]))
    assert lowered.api.servers[0].url == "https://api.example/v1"
    (problem,) = lowered.found("server-credentials")
    assert "hush" not in str(problem)


def test_a_server_with_an_unsupported_scheme_is_dropped(make: Any) -> None:
    lowered = make(make.document(servers=[{"url": "ftp://api.example"}]))
    assert lowered.api.servers == ()
    assert lowered.found("server-url")


def test_server_variables_keep_default_and_choices(make: Any) -> None:
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}, "unused": {"default": "x"}}
    server = {"url": "https://{region}.api.example", "variables": variables}
    (found,) = make(make.document(servers=[server])).api.servers
    assert [(v.name, v.default, v.enum) for v in found.variables] == [
        ("region", "eu", ("eu", "us"))
    ]


def test_operation_servers_override_those_of_path_and_document(make: Any) -> None:
    root = make.document({"servers": [{"url": "https://own.example"}]})
    root["paths"]["/pets"]["servers"] = [{"url": "https://path.example"}]
    assert make(root).api.operations[0].servers[0].url == "https://own.example"


SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "login": {"type": "http", "scheme": "Basic"},
}


def security(make: Any, own: Any, default: Any = None) -> list[list[str]]:
    operation = {} if own is None else {"security": own}
    root = make.document(operation, components={"securitySchemes": SCHEMES})
    if default is not None:
        root["security"] = default
    (lowered,) = make(root).api.operations
    return [[use.scheme for use in requirement] for requirement in lowered.security]


def test_operation_security_replaces_the_default_and_can_be_empty(make: Any) -> None:
    assert security(make, None, [{"key": []}]) == [["key"]]
    assert security(make, [{"login": []}], [{"key": []}]) == [["login"]]
    assert security(make, [], [{"key": []}]) == []
    assert security(make, [{"login": [], "key": []}, {}]) == [["key", "login"], []]


def test_alternative_with_an_unknown_scheme_is_dropped(make: Any) -> None:
    assert security(make, [{"nobody": []}, {"key": []}]) == [["key"]]


def test_a_parameter_that_a_scheme_sends_is_not_an_argument(make: Any) -> None:
    root = make.document(
        {"parameters": [{"name": "x-key", "in": "header"}], "security": [{"key": []}]},
        components={"securitySchemes": SCHEMES},
    )
    lowered = make(root)
    assert lowered.api.operations[0].parameters == ()
    assert lowered.found("credential-parameter")


def test_credential_as_a_default_is_dropped_and_not_shown(make: Any) -> None:
    secret = "tok-0123456789abcdef"
    parameter = {"name": "token", "in": "query", "schema": {"type": "string", "default": secret}}
    lowered = make(make.with_parameters(parameter))
    assert lowered.found("secret-default")
    assert secret not in repr(lowered.api)
    assert secret not in repr(list(lowered.problems))


@pytest.mark.parametrize(
    ("host", "meant"),
    [
        ("0x7f000001", "127.0.0.1"),
        ("0177.1", "127.0.0.1"),
        ("127%2E0.0.1", "127.0.0.1"),
        ("\uff11\uff10\u30021", "10.0.0.1"),
        ("134744072", "8.8.8.8"),
    ],
)
def test_unusual_spelling_of_an_address_is_reported_and_replaced(
    make: Any, host: str, meant: str
) -> None:
    lowered = make(make.document(servers=[{"url": f"http://{host}:8080/v1"}]))
    assert lowered.found("unusual-host")
    assert bool(lowered.found("private-server")) == (meant != "8.8.8.8")
    assert lowered.api.servers[0].url == f"http://{meant}:8080/v1"


def test_private_address_of_a_server_is_reported(make: Any) -> None:
    lowered = make(make.document(servers=[{"url": "http://169.254.169.254/latest"}]))
    assert lowered.found("private-server")
    assert make(make.document()).found("private-server") == []


def test_locations_are_computed_only_for_problems() -> None:
    problems = Problems()
    loaded = load(str(SPECS / "petstore.yaml"), problems)
    api = lower(replace(loaded, locate=_no_place), problems)

    assert api.operations
    with pytest.raises(LookupError, match=r"^/paths/"):
        api.operations[0].at.location()


def _no_place(pointer: str) -> NoReturn:
    raise LookupError(pointer)


@pytest.mark.parametrize(
    "scheme",
    [
        *(
            {"type": "apiKey", "in": "header", "name": name}
            for name in ("Host", "content-length", "Transfer-Encoding", "TE", "A\r\nB", "A B", "A:")
        ),
        *(
            {"type": "apiKey", "in": "cookie", "name": name}
            for name in ("a=b", "a;b", "a\nb", "a b")
        ),
        *({"type": "apiKey", "in": "query", "name": name} for name in ("a\r\nb", "a\0", "\x85")),
        *({"type": "http", "scheme": name} for name in ("basic\r\nX: 1", "bearer x", "b\u00e4r")),
    ],
)
def test_an_unsupported_security_scheme_is_dropped(make: Any, scheme: Any) -> None:
    root = make.document(
        {"security": [{"odd": []}]}, components={"securitySchemes": {"odd": scheme}}
    )
    lowered = make(root)
    assert lowered.api.security_schemes == ()
    (problem,) = lowered.found("security-scheme")
    assert problem.at.pointer == "/components/securitySchemes/odd"


@pytest.mark.parametrize(
    "scheme",
    [
        *(
            {"type": "apiKey", "in": "header", "name": name}
            for name in ("Authorization", "Cookie", "X-Key", "x.y~z")
        ),
        {"type": "apiKey", "in": "query", "name": "filter[key] \u00e4"},
        {"type": "apiKey", "in": "cookie", "name": "__Host-sid"},
        {"type": "http", "scheme": "HOBA"},
    ],
)
def test_a_supported_security_scheme_is_used(make: Any, scheme: Any) -> None:
    lowered = make(make.document(components={"securitySchemes": {"key": scheme}}))
    assert [found.id for found in lowered.api.security_schemes] == ["key"]
    assert not lowered.found("security-scheme")


@pytest.mark.parametrize(
    "url",
    ["https://a.example:99999/t", "https://a\r\nb/t", "https://[::1/t", "https://a.example:0", 5],
)
def test_an_invalid_token_url_is_not_used(make: Any, url: Any) -> None:
    flow = {"tokenUrl": url, "refreshUrl": "https://a.example/refresh", "scopes": {}}
    scheme = {"type": "oauth2", "flows": {"clientCredentials": flow}}
    lowered = make(make.document(components={"securitySchemes": {"login": scheme}}))
    (found,) = lowered.api.security_schemes
    assert found.flows["clientCredentials"]["tokenUrl"] == ""
    assert found.flows["clientCredentials"]["refreshUrl"] == "https://a.example/refresh"
    assert lowered.found("security-scheme")


def test_a_flow_that_is_not_an_object_is_dropped(make: Any) -> None:
    flow = {"tokenUrl": "https://a.example/t", "scopes": {}}
    flows = {"authorizationCode": 1, "x-internal": True, "clientCredentials": flow}
    scheme = {"type": "oauth2", "flows": flows}
    operation = {"security": [{"login": []}]}
    document = make.document(operation, components={"securitySchemes": {"login": scheme}})
    lowered = make(document)
    (found,) = lowered.api.security_schemes
    assert found.flows == {"clientCredentials": flow}
    lowered.plan()


def test_a_scope_with_a_control_character_is_dropped(make: Any) -> None:
    operation = {"security": [{"key": ["read", "write\r\nX: 1"]}]}
    lowered = make(make.document(operation, components={"securitySchemes": SCHEMES}))
    assert lowered.api.operations[0].security[0][0].scopes == ("read",)
    assert lowered.found("security-scope")


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example:99999",
        "https://a.example:0",
        "https://a.example:x",
        "https://a\x7f.example",
    ],
)
def test_a_server_url_that_no_request_can_be_sent_to_is_dropped(make: Any, url: str) -> None:
    lowered = make(make.document(servers=[{"url": url}]))
    assert lowered.api.servers == ()
    assert lowered.found("server-url")


def test_a_server_url_can_have_a_variable_port(make: Any) -> None:
    server = {"url": "https://a.example:{port}", "variables": {"port": {"default": "8443"}}}
    assert make(make.document(servers=[server])).api.servers[0].url == "https://a.example:{port}"

"""Tests of finding credentials hidden in parameters, headers and documents, and of look-alikes."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.ir.credentials import HiddenCredential
from mcpgen.plan.arguments.credentials import find_hidden_credentials

ANSWERS = {"200": {"description": "ok"}}


def operations(make: Any, described: dict[str, dict[str, Any]], **root: Any) -> dict[str, Any]:
    """Return a document with these operations, by method and path: "get /pets"."""
    found: dict[str, Any] = make.document(**root)
    found["paths"] = {}
    for key, operation in described.items():
        method, path = key.split(" ")
        item = found["paths"].setdefault(path, {})
        item[method] = {"responses": ANSWERS, **operation}
    return found


def parameter(name: str, location: str = "query", **more: Any) -> dict[str, Any]:
    required = {"required": True} if location == "path" else {}
    return {"name": name, "in": location, "schema": {"type": "string"}, **required, **more}


def everywhere(make: Any, *parameters: dict[str, Any], number: int = 4, **root: Any) -> Any:
    """Return a document whose operations all have these parameters."""
    described = {f"get /a{index}": {"parameters": list(parameters)} for index in range(number)}
    return operations(make, described, **root)


def found_in(make: Any, root: Any) -> tuple[HiddenCredential, ...]:
    return find_hidden_credentials(make(root).plan())


@pytest.mark.parametrize("location", ["query", "header", "cookie"])
@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "X-Api-Key", "access_token", "accessToken", "auth_token"]
)
def test_a_credential_name_shared_by_all_operations_is_a_secret_argument(
    make: Any, name: str, location: str
) -> None:
    (found,) = found_in(make, everywhere(make, parameter(name, location)))
    assert (found.code, found.is_certain, len(found.tools)) == ("secret-argument", True, 4)
    (scheme,) = found.schemes.values()
    assert scheme == {"type": "apiKey", "in": location, "name": name}


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("key", "Your registered API key."),
        ("token", "The access token of the user."),
        ("secret", "Authenticates the account."),
    ],
)
def test_a_common_word_described_as_a_credential_is_certain(
    make: Any, name: str, description: str
) -> None:
    (found,) = found_in(make, everywhere(make, parameter(name, description=description)))
    assert found.is_certain


def test_a_common_word_without_a_description_is_uncertain(make: Any) -> None:
    (found,) = found_in(make, everywhere(make, parameter("token")))
    assert not found.is_certain


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("page_token", ""),
        ("pageToken", "A page token of a previous call."),
        ("next_token", ""),
        ("NextToken", ""),
        ("continuationToken", ""),
        ("token", "The token of the next page."),
        ("token", "The token of the invitation."),
        ("idempotency_key", ""),
        ("csrf_token", ""),
        ("sort_key", ""),
        ("api_key_id", "The id of the API key."),
        ("max_tokens", ""),
        ("push_token", "The token of the device."),
    ],
)
def test_other_tokens_and_keys_are_arguments(make: Any, name: str, description: str) -> None:
    assert found_in(make, everywhere(make, parameter(name, description=description))) == ()


def test_a_flag_is_not_a_secret(make: Any) -> None:
    flag = parameter("certificate.hasPrivateKey", schema={"type": "boolean"})
    assert found_in(make, everywhere(make, flag)) == ()


def test_a_common_word_in_one_operation_of_many_is_an_argument(make: Any) -> None:
    described = {f"get /a{index}": {} for index in range(9)}
    described["get /key"] = {"parameters": [parameter("key", description="The access key.")]}
    assert found_in(make, operations(make, described)) == ()


def test_a_credential_name_in_few_operations_is_uncertain(make: Any) -> None:
    described: dict[str, Any] = {f"get /a{index}": {} for index in range(9)}
    about = "An access token that pre-authenticates this request, to share its link."
    described["get /file"] = {"parameters": [parameter("access_token", description=about)]}
    (found,) = found_in(make, operations(make, described))
    assert (found.is_certain, found.tools) == (False, ("get_file",))


def test_a_segment_that_names_a_resource_is_an_argument(make: Any) -> None:
    described = {f"get /tokens/{{token}}/{part}": {} for part in ("a", "b", "c")}
    for operation in described.values():
        operation["parameters"] = [parameter("token", "path")]
    assert found_in(make, operations(make, described)) == ()


def test_a_credential_in_every_path_comes_from_a_setting(make: Any) -> None:
    about = "The authentication token of the bot."
    described = {f"get /bot{{token}}/{part}": {} for part in ("a", "b", "c")}
    for operation in described.values():
        operation["parameters"] = [parameter("token", "path", description=about)]
    (found,) = found_in(make, operations(make, described))
    assert found.is_certain
    assert found.parameters == {"*": {"token": {"from_environment": "DEMO_TOKEN", "secret": True}}}


def body(**members: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": list(members), "properties": members}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def test_the_password_of_a_new_user_is_an_argument(make: Any) -> None:
    text = {"type": "string", "format": "password"}
    described = {f"post /a{index}": body(name={"type": "string"}) for index in range(3)}
    described["post /users"] = body(name={"type": "string"}, password=text)
    assert found_in(make, operations(make, described)) == ()


@pytest.mark.parametrize(
    "path", ["/oauth/token", "/auth/login", "/login", "/v1/sessions", "/password/reset", "/signup"]
)
def test_a_credential_of_a_login_operation_is_an_argument(make: Any, path: str) -> None:
    secret = {"type": "string", "description": "The client secret."}
    described = {f"post {path}": body(client_secret=secret, token=secret, password=secret)}
    described |= {"get /pets": {}, "get /toys": {}}
    assert found_in(make, operations(make, described)) == ()


def test_a_secret_in_nearly_all_bodies_comes_from_a_setting(make: Any) -> None:
    secret = {"type": "string", "description": "Your account's API secret."}
    described = {f"post /a{index}": body(secret=secret) for index in range(4)}
    (found,) = found_in(make, operations(make, described))
    assert found.parameters == {
        "*": {"body.secret": {"from_environment": "DEMO_SECRET", "secret": True}}
    }


def test_an_optional_secret_beside_a_scheme_is_not_sent(make: Any) -> None:
    secret = {"type": "string", "description": "Your account's API secret."}
    described = {f"post /a{index}": body(secret=secret) for index in range(4)}
    for operation in described.values():
        del operation["requestBody"]["content"]["application/json"]["schema"]["required"]
    scheme = {"k": {"type": "apiKey", "in": "header", "name": "X-K"}}
    root = operations(make, described, components={"securitySchemes": scheme}, security=[{"k": []}])
    (found,) = found_in(make, root)
    assert found.parameters == {"*": {"body.secret": {"hidden": True}}}


def test_a_secret_that_one_operation_requires_is_sent(make: Any) -> None:
    secret = {"type": "string", "description": "Your account's API secret."}
    described = {f"post /a{index}": body(secret=secret) for index in range(4)}
    for operation in described.values():
        del operation["requestBody"]["content"]["application/json"]["schema"]["required"]
    described["post /token"] = body(secret=secret)
    scheme = {"k": {"type": "apiKey", "in": "header", "name": "X-K"}}
    root = operations(make, described, components={"securitySchemes": scheme}, security=[{"k": []}])
    (found,) = found_in(make, root)
    assert len(found.tools) == 5
    assert found.parameters["*"]["body.secret"]["from_environment"] == "DEMO_SECRET"


def test_a_setting_does_not_reuse_the_name_of_a_credential(make: Any) -> None:
    secret = {"type": "string", "description": "Your account's API secret."}
    described = {f"post /a{index}": body(secret=secret) for index in range(4)}
    scheme = {"secret": {"type": "apiKey", "in": "header", "name": "X-K"}}
    root = operations(
        make, described, components={"securitySchemes": scheme}, security=[{"secret": []}]
    )
    (found,) = found_in(make, root)
    assert found.parameters["*"]["body.secret"]["from_environment"] == "DEMO_SECRET_PARAMETER"


def test_two_credentials_never_share_a_name(make: Any) -> None:
    secret = {"type": "string", "description": "Your account's API secret."}
    described = {f"post /a{index}": body(api_key=secret) for index in range(4)}
    for operation in described.values():
        operation["parameters"] = [parameter("X-Api-Key", "header"), parameter("x_api_key")]
    header, query, member = found_in(make, operations(make, described))
    assert list(header.schemes) == ["x_api_key"]
    assert list(query.schemes) == ["x_api_key_parameter"]
    assert member.parameters["*"]["body.api_key"]["from_environment"] == "DEMO_API_KEY"


def test_a_long_scheme_name_is_truncated(make: Any) -> None:
    (found,) = found_in(make, everywhere(make, parameter(f"{'a' * 300}_access_token")))
    (scheme,) = found.schemes
    assert len(scheme) <= 60
    assert scheme.endswith("_access_token")


# Headers that only a security scheme may set


def test_an_authorization_header_without_a_scheme_becomes_a_bearer_scheme(make: Any) -> None:
    header = parameter("Authorization", "header", description="Bearer token")
    (found,) = found_in(make, everywhere(make, header))
    assert (found.code, found.is_certain) == ("credential-header", True)
    assert found.schemes == {"token": {"type": "http", "scheme": "bearer"}}


@pytest.mark.parametrize(
    "scheme",
    [
        {"type": "http", "scheme": "bearer"},
        {"type": "apiKey", "in": "header", "name": "authorization"},
        {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a", "scopes": {}}}},
    ],
)
def test_an_authorization_header_that_a_scheme_sets_is_not_reported(make: Any, scheme: Any) -> None:
    header = parameter("Authorization", "header")
    root = everywhere(
        make, header, components={"securitySchemes": {"s": scheme}}, security=[{"s": []}]
    )
    assert found_in(make, root) == ()


def test_an_authorization_header_beside_another_key_becomes_an_api_key(make: Any) -> None:
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    header = parameter("Authorization", "header")
    root = everywhere(
        make, header, components={"securitySchemes": {"s": key}}, security=[{"s": []}]
    )
    (found,) = found_in(make, root)
    assert found.schemes == {
        "authorization": {"type": "apiKey", "in": "header", "name": "Authorization"}
    }


def test_a_cookie_header_is_uncertain(make: Any) -> None:
    (found,) = found_in(make, everywhere(make, parameter("Cookie", "header")))
    assert (found.code, found.is_certain) == ("credential-header", False)


def test_an_authorization_header_in_swagger_2_is_reported(make: Any) -> None:
    root = {
        "swagger": "2.0",
        "info": {"title": "Demo", "version": "1"},
        "host": "api.example",
        "paths": {
            "/a": {
                "get": {
                    "parameters": [
                        {"name": "Authorization", "in": "header", "type": "string"},
                    ],
                    "responses": ANSWERS,
                }
            }
        },
    }
    (found,) = found_in(make, root)
    assert found.code == "credential-header"


# Documents that declare no credential


def refused(number: int, of: int) -> dict[str, dict[str, Any]]:
    """Return operations, of which the first `number` may answer 401."""
    answers = {**ANSWERS, "401": {"description": "Unauthorized"}}
    return {
        f"get /a{index}": {"responses": answers if index < number else ANSWERS}
        for index in range(of)
    }


def test_operations_that_answer_401_need_a_credential(make: Any) -> None:
    (found,) = found_in(make, operations(make, refused(3, 20)))
    assert (found.code, found.is_certain, len(found.tools)) == ("no-credentials", False, 20)
    assert found.security == ({"token": ()}, {})


def test_a_description_that_mentions_authentication_needs_a_credential(make: Any) -> None:
    info = {"title": "Demo", "version": "1", "description": "Send your API key as a bearer token."}
    (found,) = found_in(make, operations(make, {"get /a": {}}, info=info))
    assert found.code == "no-credentials"


@pytest.mark.parametrize(
    "description", ["", "Pets and owners.", "This API requires no authentication."]
)
def test_a_public_api_is_not_reported(make: Any, description: str) -> None:
    info = {"title": "Demo", "version": "1", "description": description}
    assert found_in(make, operations(make, refused(0, 4), info=info)) == ()


def test_a_401_response_of_a_login_operation_is_ignored(make: Any) -> None:
    answers = {**ANSWERS, "401": {"description": "Wrong password"}}
    described = {"post /login": {"responses": answers}, "get /pets": {}, "get /toys": {}}
    assert found_in(make, operations(make, described)) == ()


def test_operations_that_state_no_security_are_public(make: Any) -> None:
    described = refused(4, 4)
    for operation in described.values():
        operation["security"] = []
    assert found_in(make, operations(make, described)) == ()


def test_unused_declared_schemes_are_suggested(make: Any) -> None:
    schemes = {"a": {"type": "http", "scheme": "basic"}, "b": {"type": "http", "scheme": "bearer"}}
    root = operations(make, refused(2, 4), components={"securitySchemes": schemes})
    (found,) = found_in(make, root)
    assert found.is_certain
    assert found.security == ({"a": ()}, {"b": ()}, {})

"""Tests of a call of each body kind in GitHub's, Stripe's and Twilio's documents, as it arrives.

The operations are extracted from the documents, with everything that they refer to.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from mcpgen.runtime.content import ToolResult
from tests.support.corpus import CORPUS, corpus_documents, is_present
from tests.wire.served import Served, serve
from tests.wire.test_wire import comparable, said
from tests.wire.upstream import Answer, Sent, Upstream

pytestmark = pytest.mark.skipif(not is_present(), reason=f"no corpus in {CORPUS}")

DOCUMENTS = {
    "github": (
        "openapi-23.0.2-generated-api.github.com.json",
        [
            "/repos/{owner}/{repo}/issues",
            "/markdown/raw",
            "/repos/{owner}/{repo}/releases/{release_id}/assets",
        ],
    ),
    "stripe": ("ag-stripe.com-2020-08-27.yaml", ["/v1/customers", "/v1/files"]),
    "twilio": (
        "twilio-oai-json-twilio_api_v2010.json",
        ["/2010-04-01/Accounts/{AccountSid}/Messages.json"],
    ),
}
CONFIRMED = ("https://files.stripe.com",)
JSON = ("accept", "application/json")
FORM = ("content-type", "application/x-www-form-urlencoded")
REPOSITORY = {"owner": "octo", "repo": "cat"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Served]:
    made: dict[str, Served] = {}

    def of(api: str) -> Served:
        if api not in made:
            name, paths = DOCUMENTS[api]
            (found,) = (each for each in corpus_documents() if each.name == name)
            text = found.path.read_text(encoding="utf-8")
            whole = json.loads(text) if name.endswith("json") else yaml.load(text, yaml.CSafeLoader)
            whole["paths"] = {path: whole["paths"][path] for path in paths}
            if api == "stripe":
                mend_file(whole)
            folder = tmp_path_factory.mktemp(api)
            document = folder / "openapi.json"
            document.write_text(json.dumps(whole, default=str), encoding="utf-8")
            made[api] = serve(document, f"flagship-{api}", folder / "package", *CONFIRMED)
        return made[api]

    return of


def mend_file(document: Any) -> None:
    """Declare a string upload as a file, as an overlay would."""
    body = document["paths"]["/v1/files"]["post"]["requestBody"]
    schema = body["content"]["multipart/form-data"]["schema"]
    schema["properties"]["file"]["format"] = "binary"


def played(made: Served, operation: str, arguments: Any, environ: Any) -> tuple[Sent, ToolResult]:
    """Return the only request that a tool sends, and its result."""
    (tool,) = (tool.name for tool in made.plan.tools if tool.operation.key == operation)

    async def run() -> tuple[Sent, ToolResult]:
        upstream = Upstream([Answer(200, (("Content-Type", "application/json"),), b"{}")])
        registry = made.registry(environ, upstream.send)
        context: Any = SimpleNamespace(owner=None)
        try:
            result = await registry.call(tool, arguments, context)
        finally:
            await registry.aclose()
        (sent,) = upstream.received
        return comparable(sent), result

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        pytest.param(
            "POST /repos/{owner}/{repo}/issues",
            {**REPOSITORY, "body": {"title": "é & ü", "labels": ["bug"], "milestone": None}},
            Sent(
                "POST https://api.github.com/repos/octo/cat/issues",
                (JSON, ("content-type", "application/json")),
                '{"title":"é & ü","labels":["bug"],"milestone":null}'.encode(),
            ),
            id="json",
        ),
        pytest.param(
            "POST /markdown/raw",
            {"body": "*é*\n"},
            Sent(
                "POST https://api.github.com/markdown/raw",
                (("accept", "text/html"), ("content-type", "text/plain")),
                "*é*\n".encode(),
            ),
            id="text",
        ),
        pytest.param(
            "POST /markdown/raw",
            {"body": "*hi*", "content_type": "text/x-markdown"},
            Sent(
                "POST https://api.github.com/markdown/raw",
                (("accept", "text/html"), ("content-type", "text/x-markdown")),
                b"*hi*",
            ),
            id="another text",
        ),
        pytest.param(
            "POST /repos/{owner}/{repo}/releases/{release_id}/assets",
            {**REPOSITORY, "release_id": 7, "name": "a b.zip", "body": "AAEC"},
            Sent(
                "POST https://uploads.github.com/repos/octo/cat/releases/7/assets?name=a%20b.zip",
                (JSON, ("content-type", "application/octet-stream")),
                b"\x00\x01\x02",
            ),
            id="octets",
        ),
    ],
)
def test_github_bodies_are_sent_as_expected(
    served: Callable[[str], Served], operation: str, arguments: Any, expected: Sent
) -> None:
    sent, result = played(served("github"), operation, arguments, {})

    assert sent == expected, said(result)


def test_a_stripe_form_is_nested_by_its_encoding(served: Callable[[str], Served]) -> None:
    body = {
        "email": "a+b@shop.example",
        "address": {"city": "Bern", "line1": "Gasse 1"},
        "preferred_locales": ["de", "fr"],
        "metadata": {"order": "6 & 7"},
        "balance": 0,
        "description": "",
    }

    sent, result = played(
        served("stripe"),
        "POST /v1/customers",
        {"body": body},
        {"FLAGSHIP_STRIPE_BEARER_AUTH": "sk_1"},
    )

    assert sent == Sent(
        "POST https://api.stripe.com/v1/customers",
        (JSON, ("authorization", "Bearer sk_1"), FORM),
        b"email=a%2Bb%40shop.example&address%5Bcity%5D=Bern&address%5Bline1%5D=Gasse+1"
        b"&preferred_locales%5B0%5D=de&preferred_locales%5B1%5D=fr"
        b"&metadata%5Border%5D=6+%26+7&balance=0&description=",
    ), said(result)


def test_a_file_for_stripe_is_a_part(served: Callable[[str], Served]) -> None:
    file = f"data:image/png;name=id.png;base64,{b64encode(b'picture').decode()}"

    sent, result = played(
        served("stripe"),
        "POST /v1/files",
        {"body": {"purpose": "identity_document", "file": file}},
        {"FLAGSHIP_STRIPE_BEARER_AUTH": "sk_1"},
    )

    lines = [
        "--B",
        'Content-Disposition: form-data; name="purpose"',
        "",
        "identity_document",
        "--B",
        'Content-Disposition: form-data; name="file"; filename="id.png"',
        "Content-Type: image/png",
        "",
        "picture",
        "--B--",
        "",
    ]
    kind = ("content-type", "multipart/form-data; boundary=B")
    assert sent == Sent(
        "POST https://files.stripe.com/v1/files",
        (JSON, ("authorization", "Bearer sk_1"), kind),
        "\r\n".join(lines).encode(),
    ), said(result)


def test_a_form_of_twilio_repeats_the_names_of_lists(served: Callable[[str], Served]) -> None:
    account = "AC" + "0" * 32
    body = {
        "To": "+15550001",
        "From": "+15550002",
        "Body": "é & ü",
        "MediaUrl": ["https://a.example/1", "https://a.example/2"],
    }

    sent, result = played(
        served("twilio"),
        "POST /2010-04-01/Accounts/{AccountSid}/Messages.json",
        {"account_sid": account, "body": body},
        {
            "FLAGSHIP_TWILIO_ACCOUNT_SID_AUTH_TOKEN_USERNAME": "me",
            "FLAGSHIP_TWILIO_ACCOUNT_SID_AUTH_TOKEN_PASSWORD": "pw",
        },
    )

    assert sent == Sent(
        f"POST https://api.twilio.com/2010-04-01/Accounts/{account}/Messages.json",
        (JSON, ("authorization", f"Basic {b64encode(b'me:pw').decode()}"), FORM),
        b"To=%2B15550001&From=%2B15550002&Body=%C3%A9+%26+%C3%BC"
        b"&MediaUrl=https%3A%2F%2Fa.example%2F1&MediaUrl=https%3A%2F%2Fa.example%2F2",
    ), said(result)

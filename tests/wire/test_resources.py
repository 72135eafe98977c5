"""Tests of the server's own resources as file arguments: read and sent as bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime import Context, Features
from mcpgen.runtime.content import ResourceContents, ToolResult
from mcpgen.runtime.errors import InvalidArgumentsError
from mcpgen.runtime.upstream.request.files import MAX_FILE_BYTES
from tests.wire.served import Served, serve
from tests.wire.upstream import Upstream

DOCUMENT = """
openapi: 3.1.1
info: {title: Uploads, version: "1"}
servers: [{url: https://api.example.com}]
paths:
  /raw:
    put:
      operationId: raw
      requestBody: {required: true, content: {"image/*": {}}}
      responses: {"204": {description: Done}}
  /form:
    post:
      operationId: form
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema: {type: object, properties: {file: {type: string, format: binary}}}
      responses: {"204": {description: Done}}
"""
features = Features()


@features.resource("shop://pictures/{name}", mime_type="image/png")
async def picture(ctx: Context, *, name: str) -> bytes:
    """A picture."""
    return f"picture of {name}".encode()


@features.resource("shop://terms", mime_type="text/plain")
async def terms(ctx: Context) -> str:
    """The terms."""
    return "é"


@features.resource("shop://huge", mime_type="image/png")
async def huge(ctx: Context) -> ResourceContents:
    """More than may be sent."""
    return ResourceContents("shop://huge", "image/png", blob=bytes(MAX_FILE_BYTES + 1))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder: Path = tmp_path_factory.mktemp("resources")
    document = folder / "openapi.yaml"
    document.write_text(DOCUMENT, encoding="utf-8")
    made = serve(document, "resource-files", folder / "package")
    made.package.features = features
    return made


def call(
    served: Served, tool: str, body: Any, environ: Mapping[str, str] | None = None
) -> tuple[Upstream, ToolResult]:
    async def run() -> tuple[Upstream, ToolResult]:
        upstream = Upstream()
        context: Any = SimpleNamespace(owner=None)
        registry = served.registry(environ or {}, upstream.send)
        return upstream, await registry.call(tool, {"body": body}, context)

    return asyncio.run(run())


def test_a_resource_is_sent_as_a_body_with_its_media_type(served: Served) -> None:
    upstream, _ = call(served, "raw", "shop://pictures/rex")

    (sent,) = upstream.received
    assert (sent.body, dict(sent.headers)["content-type"]) == (b"picture of rex", "image/png")


def test_a_resource_is_sent_as_a_part_with_its_name_and_type(served: Served) -> None:
    upstream, _ = call(served, "form", {"file": "shop://pictures/re%20x"})

    (sent,) = upstream.received
    assert sent.body is not None
    assert b'name="file"; filename="re x"\r\nContent-Type: image/png\r\n\r\n' in sent.body
    assert b"picture of re x" in sent.body


def test_a_text_resource_is_sent_as_utf8(served: Served) -> None:
    upstream, _ = call(served, "form", {"file": "shop://terms"})

    assert b"Content-Type: text/plain\r\n\r\n\xc3\xa9\r\n" in (upstream.received[0].body or b"")


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("shop://nothing", "`/body/file` is the URI of an unknown resource of this server"),
        (
            "https://example.com/rex.png",
            "`/body/file` is the URI of an unknown resource of this server",
        ),
        ("shop://huge", "`/body/file` is a resource of more than"),
    ],
)
def test_a_uri_that_is_not_a_sendable_resource_is_rejected(
    served: Served, uri: str, why: str
) -> None:
    with pytest.raises(InvalidArgumentsError, match=why):
        call(served, "form", {"file": uri})


def test_a_resource_with_another_media_type_than_the_body_is_rejected(served: Served) -> None:
    with pytest.raises(InvalidArgumentsError, match="`/body` has an unknown media type"):
        call(served, "raw", "shop://terms")


def test_a_file_below_an_allowed_folder_is_sent_as_a_part(served: Served, tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"picture")
    allowed = {f"{served.plan.env_prefix}FILE_ROOTS": str(tmp_path)}

    upstream, _ = call(served, "form", {"file": (tmp_path / "a b.png").as_uri()}, allowed)

    (sent,) = upstream.received
    part = b'name="file"; filename="a b.png"\r\nContent-Type: image/png\r\n\r\npicture\r\n'
    assert part in (sent.body or b"")


@pytest.mark.parametrize("inside", ["../secret.png", "link.png", "%2e%2e/secret.png"])
def test_a_file_outside_of_the_allowed_folder_is_rejected(
    served: Served, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    root = tmp_path / "allowed"
    root.mkdir()
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    allowed = {f"{served.plan.env_prefix}FILE_ROOTS": str(root)}

    with pytest.raises(InvalidArgumentsError, match="/body/file"):
        call(served, "form", {"file": f"{root.as_uri()}/{inside}"}, allowed)


@pytest.mark.parametrize("name", ["rex", "rex.unheard-of", "rex.tar.gz"])
def test_a_file_with_an_unknown_type_is_sent_as_octet_stream(
    served: Served, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"bytes")
    allowed = {f"{served.plan.env_prefix}FILE_ROOTS": str(tmp_path)}

    upstream, _ = call(served, "form", {"file": (tmp_path / name).as_uri()}, allowed)

    assert b"\r\nContent-Type: application/octet-stream\r\n" in (upstream.received[0].body or b"")

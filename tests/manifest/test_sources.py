"""Tests of servers of several documents and of none, from the command to the requests sent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.packages import find_package
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client
from mcpgen.testing.mock.upstream import RecordedRequest
from tests.support.generated_files import tool_contracts

DATA = Path(__file__).parent / "data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(
    project: Path, calls: Mapping[str, dict[str, Any]], environment: Mapping[str, str] | None = None
) -> list[RecordedRequest]:
    """Call tools of the server over stdio; return the requests that arrived at the mock."""

    async def serve() -> list[RecordedRequest]:
        package = find_package(project)
        upstream = MockUpstream(package.upstream())
        settings = package.mock_environment(await upstream.start()) | (environment or {})
        try:
            async with await Client.over_stdio(
                package.command, package.environment(settings)
            ) as client:
                for tool, arguments in calls.items():
                    result = await client.call_tool(tool, arguments)
                    assert not result.get("isError"), result
        finally:
            await upstream.stop()
        return upstream.requests

    return asyncio.run(serve())


def suite_passes(project: Path) -> bool:
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/generated", "-p", "no:cacheprovider"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert " passed" in found.stdout, found.stdout
    return found.returncode == 0


def test_declared_tools_send_the_requests_of_the_manifest(folder: Path) -> None:
    assert run(["new", "reading.yaml"]) == 0
    project = folder / "reading-mcp"
    assert (project / "mcpgen.yaml").read_bytes() == (folder / "reading.yaml").read_bytes()
    assert suite_passes(project)

    find, get, note = called(
        project,
        {
            "find_books": {"words": "two towers"},
            "get_book": {"isbn": "a/b"},
            "add_note": {"isbn": "1", "text": "read"},
        },
    )
    assert find.url.endswith("/books_example_com/v1/search?q=two%20towers&format=json")
    assert find.security == ()
    assert get.url.endswith("/books_example_com/v1/books/a%2Fb")
    assert get.security == ("ApiKey",)
    assert note.url.endswith("/notes_example_org/api/notes")
    assert note.security == ()
    assert json.loads(note.body) == {
        "about": {"kind": "book", "isbn": "1"},
        "text": "read",
        "rating": {},
        "price": "$5",
        "tags": ["reading"],
    }
    assert [each.problems for each in (find, get, note)] == [(), (), ()]


def test_a_declared_tool_that_changes_is_regenerated(folder: Path) -> None:
    assert run(["new", "reading.yaml"]) == 0
    project = folder / "reading-mcp"
    assert run(["check", "reading-mcp"]) == 0
    manifest = project / "mcpgen.yaml"
    manifest.write_text(manifest.read_text().replace("max: $inputs.limit", "top: $inputs.limit"))
    assert run(["check", "reading-mcp"]) == 1

    assert run(["generate", "reading-mcp"]) == 0

    (request,) = called(project, {"find_books": {"words": "w", "limit": 3}})
    assert request.url.endswith("?q=w&top=3&format=json")


def test_two_documents_are_served_with_their_own_credentials(folder: Path) -> None:
    assert run(["new", "two.yaml"]) == 0
    project = folder / "two-mcp"
    assert suite_passes(project)
    crm, shop = called(
        project,
        {"crm_list_pets": {}, "shop_list_pets": {}},
        {"CRM_KEY": "of-the-crm", "TWO_SHOP_KEY": "of-the-shop"},
    )
    assert crm.operation == "crm:GET /pets"
    assert shop.operation == "shop:GET /pets"
    # Each credential reaches its own API, and no other.
    assert dict(crm.headers)["X-Crm"] == "of-the-crm"
    assert dict(shop.headers)["X-Shop"] == "of-the-shop"
    assert b"of-the-shop" not in repr(crm.headers).encode()
    assert b"of-the-crm" not in repr(shop.headers).encode()


def test_one_of_two_documents_is_pulled_from_another_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "two.yaml"]) == 0
    project = folder / "two-mcp"
    vendored = project / "shop.yaml"
    crm, before = (project / "crm.yaml").read_bytes(), vendored.read_text()
    (folder / "crm.yaml").write_text("changed, and not asked for")
    (folder / "newer=shop.yaml").write_text(before.replace("listPets", "findPets"))
    capsys.readouterr()

    assert run(["pull", "two-mcp", "newer=shop.yaml"]) == 2
    assert "as in `shop=newer=shop.yaml`; there is `shop` and `crm`" in capsys.readouterr().err
    assert vendored.read_text() == before

    assert run(["pull", "two-mcp", "shop=newer=shop.yaml"]) == 0
    assert "findPets" in vendored.read_text()
    assert (project / "crm.yaml").read_bytes() == crm
    assert run(["generate", "two-mcp"]) == 0
    (folder / "newer=shop.yaml").write_text(before)
    assert run(["pull", "two-mcp", "shop="]) == 0
    assert vendored.read_text() == before


def test_schemas_with_the_same_name_in_two_documents_stay_separate(folder: Path) -> None:
    assert run(["new", "two.yaml"]) == 0
    schemas = json.loads((folder / "two-mcp/tests/generated/upstream.json").read_bytes())["schemas"]
    assert schemas["shop.Pet"]["required"] == ["name"]
    assert schemas["crm.Pet"]["required"] == ["id"]
    assert schemas["crm.Pet"]["properties"]["parent"] == {"$ref": "#/$defs/crm.Pet"}


def test_entries_with_several_sources_must_name_the_source(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "two.yaml"]) == 0
    listed = tool_contracts(folder / "two-mcp")["shop_list_pets"]["listing"]
    assert listed["title"] == "Pets of the shop"
    manifest = folder / "two-mcp/mcpgen.yaml"
    manifest.write_text(manifest.read_text().replace('"shop:GET /pets"', '"GET /pets"'))
    capsys.readouterr()

    assert run(["generate", "two-mcp"]) == 3

    told = capsys.readouterr().err
    assert "`GET /pets` is not an operation" in told
    assert "did you mean `crm:GET /pets`?" in told or "did you mean `shop:GET /pets`?" in told


def test_each_document_is_pulled_from_its_origin(folder: Path) -> None:
    (folder / ".git").mkdir()  # what holds the project and the documents together
    assert run(["new", "two.yaml"]) == 0
    crm = folder / "crm.yaml"
    crm.write_text(crm.read_text().replace("tags: [pets]", "tags: [pets]\n      deprecated: true"))

    assert run(["pull", "two-mcp", "--yes"]) == 0

    assert (folder / "two-mcp/crm.yaml").read_bytes() == crm.read_bytes()
    assert run(["check", "two-mcp"]) == 1
    assert run(["generate", "two-mcp"]) == 0
    assert run(["check", "two-mcp"]) == 0


def test_a_source_can_set_its_base_url_and_prefix(folder: Path) -> None:
    (folder / "one.yaml").write_text(
        "server: {name: one}\n"
        "sources: [{document: shop.yaml, prefix: my, base_url: 'https://own.example.org/api'}]\n"
    )
    assert run(["new", "one.yaml"]) == 0
    contract = json.loads((folder / "one-mcp/src/one_mcp/_generated/contract.json").read_bytes())
    assert [server["url"] for server in contract["servers"]] == ["https://own.example.org/api"]
    (request,) = called(folder / "one-mcp", {"my_list_pets": {}})
    assert request.operation == "GET /pets"


def test_overlays_change_the_tools_and_not_the_document(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mend.yaml").write_text(
        "overlay: 1.0.0\n"
        "info: {title: Mending, version: '1'}\n"
        "actions:\n"
        "- {target: \"$.paths['/pets'].get\", update: {summary: All pets of the shop}}\n"
    )
    (folder / "one.yaml").write_text(
        "server: {name: one}\nsources: [{document: shop.yaml, overlays: [mend.yaml]}]\n"
    )
    assert run(["new", "one.yaml"]) == 0
    project = folder / "one-mcp"
    assert (project / "shop.yaml").read_bytes() == (folder / "shop.yaml").read_bytes()
    assert tool_contracts(project)["list_pets"]["listing"]["title"] == "All pets of the shop"
    overlay = project / "mend.yaml"
    overlay.write_text(overlay.read_text().replace("All pets", "Each pet"))
    capsys.readouterr()
    assert run(["check", "one-mcp"]) == 1
    assert "mend.yaml has changed" in capsys.readouterr().err

    assert run(["generate", "one-mcp"]) == 0

    assert tool_contracts(project)["list_pets"]["listing"]["title"] == "Each pet of the shop"
    assert run(["check", "one-mcp"]) == 0


@pytest.mark.parametrize(
    ("sources", "pointer"),
    [
        ("[{document: gone.yaml}]", "/sources/0/document"),
        ("[{document: shop.yaml, overlays: [gone.yaml]}]", "/sources/0/overlays/0"),
    ],
)
def test_a_missing_file_is_reported_at_its_manifest_entry(
    sources: str, pointer: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.yaml").write_text(f"server: {{name: one}}\nsources: {sources}\n")
    assert run(["new", "one.yaml", "--defaults"]) == 3
    told = capsys.readouterr().err
    assert "error[unreadable]: `gone.yaml` is missing\n  --> one.yaml:2:" in told
    assert pointer in told
    assert not (folder / "one-mcp").exists()


def test_a_manifest_without_tools_generates_an_empty_server(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.yaml").write_text("server: {name: one}\nsources: []\n")
    assert run(["new", "one.yaml", "--defaults"]) == 0
    assert "mcpgen call" not in capsys.readouterr().out


ONE_ID_TWICE = """\
server: {name: two}
sources:
  - {document: shop.yaml, name: shop, prefix: shop}
  - {document: crm.yaml, name: crm, prefix: crm}
select: [{include: "shop:listPets"}, {include: "crm:listPets"}]
operations: {"crm:listPets": {expose: resource}}
resources: {stock: {uri: "two://stock", operation: "shop:listPets"}}
toolsets: {stock: {tools: ["shop:listPets"]}}
"""


def test_operations_of_two_documents_with_the_same_id_are_distinguished(folder: Path) -> None:
    (folder / "twice.yaml").write_text(ONE_ID_TWICE)
    assert run(["new", "twice.yaml"]) == 0
    project = folder / "two-mcp"
    generated = project / "src/two_mcp/_generated"
    resources = json.loads((generated / "resources.json").read_bytes())
    assert {it["listing"]["uri"]: it["tool"] for it in resources} == {
        "two://pets": "crm_list_pets",
        "two://stock": "shop_list_pets",
    }
    toolsets = json.loads((generated / "toolsets.json").read_bytes())
    assert toolsets["stock"]["tools"] == ["shop_list_pets"]

    assert run(["override", "shop:listPets", str(project)]) == 0
    (written,) = (project / "src/two_mcp/handlers").glob("shop*.py")
    assert '@override("shop:GET /pets")' in written.read_text()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("operation: ", "`listPets` is not an operation of this server"),
        ("tools: [", "`listPets` is no tool of this server"),
    ],
)
def test_an_ambiguous_operation_id_without_its_document_is_rejected(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str, said: str
) -> None:
    manifest = ONE_ID_TWICE.replace(f'{key}"shop:listPets"', f"{key}listPets")
    (folder / "twice.yaml").write_text(manifest)
    assert run(["new", "twice.yaml"]) == 3
    told = capsys.readouterr().err
    assert said in told
    assert ":listPets`?" in told
    assert not (folder / "two-mcp").exists()


def test_a_workflow_of_declared_tools_is_tested_with_their_request_bodies(
    folder: Path,
) -> None:
    with (folder / "reading.yaml").open("a") as manifest:
        manifest.write(
            "workflows:\n"
            "  note_book:\n"
            "    inputs: {type: object, required: [isbn], properties: {isbn: {type: string}}}\n"
            "    steps:\n"
            "      - {id: note, operation: add_note,"
            " arguments: {isbn: $inputs.isbn, text: A note.}}\n"
        )
    assert run(["new", "reading.yaml"]) == 0
    project = folder / "reading-mcp"
    cases = json.loads((project / "tests/generated/workflows.json").read_bytes())
    assert cases
    assert suite_passes(project)

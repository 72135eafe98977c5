"""Tests of `pull`: fetched documents are compared first, and written completely or not at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.pull import Pull as FetchedPull
from mcpgen.pipeline.commands.pull import PullResult, write_pull
from mcpgen.pipeline.commands.pull import pull as pull_documents
from mcpgen.pipeline.options import GenerateOptions, Report
from tests.support.projects import DOCUMENT, silent

Pull = Callable[..., FetchedPull]
NARROWER = DOCUMENT.replace("{type: integer}}]", "{type: integer, minimum: 1}}]")


@pytest.fixture
def pull(project: Path, cache: Path) -> Pull:
    def run(source: Path | str | None = None, **more: bool) -> FetchedPull:
        options = GenerateOptions(external_validator=False, cache=cache, **more)
        return pull_documents(project, None if source is None else str(source), options, silent)

    return run


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def lock(project: Path) -> dict[str, Any]:
    document: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (project / "mcpgen.lock").read_bytes()
    )
    (entry,) = document["documents"].values()
    return entry


def codes(report: FetchedPull) -> list[str]:
    return [problem.code for problem in report.problems]


def test_the_recorded_file_is_found_relative_to_the_project(
    project: Path, source: Path, pull: Pull
) -> None:
    assert pull().result is PullResult.CURRENT
    source.write_text(NARROWER)
    before = tree(project)
    fetched = pull()
    assert (fetched.result, fetched.outcome) == (PullResult.CHANGED, "done")
    assert fetched.changelog is not None
    assert [change.rule for change in fetched.changelog.changes] == ["input-constraint-narrowed"]
    assert tree(project) == before  # nothing is written before it was shown

    assert write_pull(fetched) == "done"
    assert (project / "openapi.yaml").read_text() == NARROWER
    assert pull().result is PullResult.CURRENT
    assert check(project).stale == ("openapi.yaml",)


def test_generate_uses_the_pulled_document_and_clears_the_mark(
    project: Path, source: Path, pull: Pull, regenerate: Callable[..., Report]
) -> None:
    source.write_text(NARROWER)
    write_pull(pull())
    assert set(lock(project)) == {"fetched", "name", "settings", "sha256", "source"}
    assert regenerate().outcome == "done"
    assert set(lock(project)) == {"name", "settings", "sha256", "source"}
    assert check(project).outcome == "done"


def test_an_invalid_document_changes_nothing(project: Path, source: Path, pull: Pull) -> None:
    before = tree(project)
    source.write_text("openapi: 3.1.0\ninfo: {title: Pet Shop API, version: '2'}\npaths: {}\n")
    fetched = pull()
    assert (fetched.result, fetched.outcome) == (PullResult.REFUSED, "rejected")
    assert fetched.files == ()
    assert tree(project) == before


def test_a_source_outside_the_repository_is_recorded_without_its_path(
    project: Path, tmp_path: Path, pull: Pull
) -> None:
    elsewhere = tmp_path / "api" / "pets.yaml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(NARROWER)
    write_pull(pull(elsewhere))
    assert lock(project)["source"] == "pets.yaml"
    gone = pull()
    assert (gone.result, gone.outcome, codes(gone)) == (
        PullResult.UNREACHABLE,
        "findings",
        ["unreachable"],
    )


def test_a_source_inside_the_repository_is_recorded_with_its_relative_path(
    project: Path, tmp_path: Path, pull: Pull
) -> None:
    (tmp_path / ".git").mkdir()
    elsewhere = tmp_path / "api" / "pets.yaml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(NARROWER)
    write_pull(pull(elsewhere))
    assert lock(project)["source"] == "api/pets.yaml"
    assert pull().result is PullResult.CURRENT


def test_an_edited_document_is_replaced_only_with_force_and_a_copy(
    project: Path, source: Path, pull: Pull
) -> None:
    source.write_text(NARROWER)
    mine = DOCUMENT.replace("Fetch one pet", "Fetch my pet")
    (project / "openapi.yaml").write_text(mine)
    refused = pull()
    assert (refused.outcome, codes(refused), refused.files) == ("conflict", ["hand-edit"], ())

    assert write_pull(pull(force=True)) == "done"
    assert (project / "openapi.yaml").read_text() == NARROWER
    assert (project / ".mcpgen/rescued/openapi.yaml.txt").read_text() == mine


def test_each_overwritten_edit_is_copied(project: Path, source: Path, pull: Pull) -> None:
    edits = [DOCUMENT.replace("Fetch one pet", word) for word in ("Mine", "Ours", "Mine")]
    for number, edited in enumerate(edits):
        source.write_text(NARROWER.replace("minimum: 1", f"minimum: {number}"))
        (project / "openapi.yaml").write_text(edited)
        assert write_pull(pull(force=True)) == "done"
    kept = sorted((project / ".mcpgen/rescued").iterdir())
    assert [path.name for path in kept] == ["openapi.yaml.2.txt", "openapi.yaml.txt"]
    assert [path.read_text() for path in kept] == [edits[1], edits[0]]


def test_an_interrupted_run_is_not_overwritten(project: Path, source: Path, pull: Pull) -> None:
    source.write_text(NARROWER)
    fetched = pull()
    (project / ".mcpgen/journal.json").write_text("{}")
    before = tree(project)
    assert write_pull(fetched) == "interrupted"
    assert tree(project) == before


def test_a_second_pull_before_generate_is_not_a_hand_edit(
    project: Path, source: Path, pull: Pull
) -> None:
    source.write_text(NARROWER)
    write_pull(pull())
    source.write_text(NARROWER.replace("minimum: 1", "minimum: 2"))
    assert pull().result is PullResult.CHANGED


def test_a_project_that_changed_during_the_pull_is_not_written(
    project: Path, source: Path, pull: Pull
) -> None:
    source.write_text(NARROWER)
    fetched = pull()
    (project / "mcpgen.lock").write_bytes((project / "mcpgen.lock").read_bytes() + b"\n")
    before = tree(project)
    assert write_pull(fetched) == "interrupted"
    assert tree(project) == before


def test_a_document_of_several_files_requires_a_folder(
    project: Path, tmp_path: Path, pull: Pull
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "root.yaml").write_text(DOCUMENT.replace("#/components/schemas/Pet", "pet.yaml"))
    (folder / "pet.yaml").write_text("type: object\nproperties: {id: {}}\n")
    refused = pull(folder / "root.yaml")
    assert (refused.outcome, codes(refused)) == ("rejected", ["document-layout"])
    manifest = project / "mcpgen.yaml"
    text = manifest.read_text().replace('"openapi.yaml"', '"openapi/root.yaml"')
    manifest.write_text(text)
    write_pull(pull(folder / "root.yaml"))
    assert (project / "openapi/root.yaml").is_file()
    assert (project / "openapi/pet.yaml").is_file()


# -- from a URL --------------------------------------------------------------------------------


@dataclass
class Site:
    """A web site with one document, which records its requests."""

    body: bytes = DOCUMENT.encode()
    etag: str = ""
    location: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["If-None-Match"]
            made.asked.append((self.path, known))
            if made.location and self.path != "/moved.yaml":
                self.send_response(302)
                self.send_header("Location", made.location)
            elif made.etag and known == made.etag:
                self.send_response(304)
            else:
                self.send_response(200)
                if made.etag:
                    self.send_header("ETag", made.etag)
                self.send_header("Content-Length", str(len(made.body)))
                self.end_headers()
                self.wfile.write(made.body)
                return
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def test_an_unchanged_document_is_not_downloaded_again(
    project: Path, site: Site, pull: Pull, regenerate: Callable[..., Report]
) -> None:
    site.etag = '"v1"'
    write_pull(pull(f"{site.url}/pets.yaml"))
    assert (lock(project)["source"], lock(project)["etag"]) == (f"{site.url}/pets.yaml", '"v1"')
    assert regenerate().outcome == "done"
    assert pull().result is PullResult.CURRENT
    assert site.asked == [("/pets.yaml", None), ("/pets.yaml", '"v1"')]

    site.body, site.etag = NARROWER.encode(), '"v2"'
    write_pull(pull())
    assert lock(project)["etag"] == '"v2"'
    assert pull().result is PullResult.CURRENT
    assert site.asked[-2:] == [("/pets.yaml", '"v1"'), ("/pets.yaml", '"v2"')]


def test_the_entity_tag_of_an_edited_document_is_not_sent(
    project: Path, site: Site, pull: Pull, regenerate: Callable[..., Report]
) -> None:
    site.etag = '"v1"'
    write_pull(pull(f"{site.url}/pets.yaml"))
    regenerate()
    (project / "openapi.yaml").write_text(NARROWER)
    pull()
    assert site.asked[-1] == ("/pets.yaml", None)
    regenerate()
    assert "etag" not in lock(project)


def test_no_credential_of_a_url_is_recorded(project: Path, site: Site, pull: Pull) -> None:
    url = site.url.replace("http://", "http://user:swordfish@") + "/pets.yaml?token=swordfish"
    site.body = NARROWER.encode()
    fetched = pull(url)
    assert site.asked == [("/pets.yaml?token=swordfish", None)] or codes(fetched) == ["fetch"]
    write_pull(fetched)
    assert not [path for path, content in tree(project).items() if b"swordfish" in content]
    assert "swordfish" not in str(list(fetched.problems))


@pytest.mark.parametrize("etag", ["v1", '"a b"', '"' + "x" * 500 + '"'])
def test_an_invalid_entity_tag_is_not_recorded(
    project: Path, site: Site, pull: Pull, etag: str
) -> None:
    site.etag = etag
    write_pull(pull(f"{site.url}/pets.yaml"))
    assert "etag" not in lock(project)


def test_a_redirect_is_followed_only_within_the_origin(site: Site, pull: Pull) -> None:
    site.location = "/moved.yaml"
    assert pull(f"{site.url}/pets.yaml").outcome == "done"
    site.location = site.url.replace("127.0.0.1", "localhost") + "/moved.yaml"
    asked = len(site.asked)
    refused = pull(f"{site.url}/pets.yaml")
    assert (refused.result, refused.outcome) == (PullResult.UNREACHABLE, "findings")
    assert len(site.asked) == asked + 1
    assert f"another origin, {site.location}" in next(iter(refused.problems)).message


def test_an_unreachable_server_is_distinguished_from_an_invalid_document(
    project: Path, site: Site, pull: Pull
) -> None:
    before = tree(project)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    gone = pull(f"http://127.0.0.1:{port}/pets.yaml")
    assert (gone.result, gone.outcome, codes(gone)) == (
        PullResult.UNREACHABLE,
        "findings",
        ["fetch"],
    )
    site.body = b"<html>"
    assert pull(f"{site.url}/pets.yaml").outcome == "rejected"
    assert tree(project) == before


def test_generate_never_uses_the_network(
    project: Path,
    site: Site,
    pull: Pull,
    regenerate: Callable[..., Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.body = NARROWER.encode()
    write_pull(pull(f"{site.url}/pets.yaml"))

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("the network was used")

    for name in ("socket.connect", "getaddrinfo", "create_connection"):
        monkeypatch.setattr(f"socket.{name}", refuse)
    report = regenerate()
    assert report.outcome == "done"
    assert "tests/generated/upstream.json" in report.written
    assert check(project).outcome == "done"
    assert len(site.asked) == 1

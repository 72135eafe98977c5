"""Tests of live runs; the real API is a mock on a socket that the server does not know."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.testing import MockUpstream
from tests.support.paths import EXAMPLES

SECRET = "a-key-that-nobody-may-see"
DESCRIPTION = json.loads(
    (EXAMPLES / "petstore-mcp" / "tests" / "generated" / "upstream.json").read_bytes()
)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockUpstream]:
    mock = MockUpstream(DESCRIPTION)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    url = asyncio.run_coroutine_threadsafe(mock.start(), loop).result(10)
    monkeypatch.setenv("PETSTORE_BASE_URL", url)
    monkeypatch.setenv("PETSTORE_API_KEY", SECRET)
    try:
        yield mock
    finally:
        asyncio.run_coroutine_threadsafe(mock.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def write_case(project: Path, expect: str = "{is_error: false}") -> None:
    (project / "mcpgen.tests.yaml").write_text(
        "version: 1\ncases:\n"
        "  - {id: one, call: {tool: get_pet, arguments: {pet_id: 42}}, expect: " + expect + "}\n"
    )


def test_live_runs_only_reading_tools_and_reports_the_rest(
    petstore_copy: Path, api: MockUpstream, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(petstore_copy)

    code = run(["test", str(petstore_copy), "--live", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert sorted(request.operation for request in api.requests) == [
        *("GET /pets", "GET /pets/{petId}", "GET /store/inventory"),
    ]
    untested = {each["test"]: each["reason"] for each in report["groups"][0]["untested"]}
    assert "--live-writes" in untested["delete_pet: no arguments"]
    assert "it requires pet_id" in untested["list_vaccinations: no arguments"]
    recorded = [path.name for path in (petstore_copy / ".mcpgen/evidence").iterdir()]
    assert recorded == ["live.json"]  # the mock was not called


def test_no_secret_is_printed(
    petstore_copy: Path, api: MockUpstream, capsys: pytest.CaptureFixture[str]
) -> None:
    write_case(petstore_copy, f"{{is_error: false, text: {{contains: [{SECRET}]}}}}")

    assert run(["test", str(petstore_copy), "--live"]) == 1

    said = capsys.readouterr()
    assert "the text does not contain `***`" in said.out
    assert SECRET not in said.out + said.err


def test_a_recorded_cassette_is_replayed_without_the_api(
    petstore_copy: Path,
    api: MockUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_case(petstore_copy)
    cassette = tmp_path / "cassette.json"

    assert run(["test", str(petstore_copy), "--record", str(cassette)]) == 0
    asked = len(api.requests)
    text = cassette.read_text()
    assert SECRET not in text
    assert [each["request"]["path"] for each in json.loads(text)["exchanges"]].count(
        "/pets/42"
    ) == 1

    monkeypatch.setenv("PETSTORE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("PETSTORE_API_KEY")
    assert run(["test", str(petstore_copy), "--replay", str(cassette)]) == 0
    assert len(api.requests) == asked

    cassette.write_text(text.replace("/pets/42", "/pets/43"))
    capsys.readouterr()
    assert run(["test", str(petstore_copy), "--replay", str(cassette)]) == 1
    assert "the cassette has no `GET /pets/42` left" in capsys.readouterr().out


def test_an_invalid_cassette_is_rejected(
    petstore_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette = tmp_path / "cassette.json"
    cassette.write_text("[]")

    assert run(["test", str(petstore_copy), "--replay", str(cassette)]) == 3
    assert "is not a cassette" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--record", "--replay"])
def test_an_unusable_file_is_a_usage_error(
    petstore_copy: Path, api: MockUpstream, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    missing = petstore_copy / "nowhere" / "cassette.json"

    assert run(["test", str(petstore_copy), option, str(missing)]) == 2
    assert f"cannot use `{missing}`: No such file" in capsys.readouterr().err


def test_an_unknown_tool_is_a_usage_error(
    petstore_copy: Path, api: MockUpstream, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(petstore_copy), "--live", "--tool", "get_pets"]) == 2

    assert "the server lists no tool `get_pets`" in capsys.readouterr().err
    assert not api.requests


def test_a_live_run_without_calls_fails(
    petstore_copy: Path, api: MockUpstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "junit.xml"
    asked = ["test", str(petstore_copy), "--live", "--tool", "get_pet", "--junit", str(junit)]

    assert run(asked) == 1

    assert "nothing was called" in capsys.readouterr().out
    assert "it requires pet_id" in junit.read_text()


def test_a_live_run_is_recorded_without_data_of_the_api(
    petstore_copy: Path, api: MockUpstream
) -> None:
    write_case(petstore_copy, "{is_error: true}")
    assert run(["test", str(petstore_copy), "--live"]) == 1

    text = (petstore_copy / ".mcpgen/evidence/live.json").read_text()
    evidence = json.loads(text)
    assert (evidence["outcome"], evidence["with_writes"]) == ("failed", False)
    assert evidence["failed"] == ["one"]
    assert evidence["calls"]["failed"] == 1
    assert evidence["result"].startswith("2 passed, 1 failed")
    assert SECRET not in text


@pytest.mark.usefixtures("api")
def test_a_live_run_of_chosen_tools_and_a_replay_are_not_recorded(
    petstore_copy: Path, tmp_path: Path
) -> None:
    write_case(petstore_copy)
    cassette = str(tmp_path / "calls.json")
    words = ["test", str(petstore_copy)]
    assert run([*words, "--record", cassette, "--tool", "get_pet"]) == 0
    assert run([*words, "--replay", cassette, "--tool", "get_pet"]) == 0
    assert not (petstore_copy / ".mcpgen/evidence/live.json").exists()

"""Tests of targets from command-line arguments, and of recordings without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.factory.packages import NoPackageError
from mcpgen.factory.wire.frames import MAX_FRAMES, Frame, HttpHead, Recording, decode
from mcpgen.factory.wire.targets import TargetError, find_target


def test_a_url_is_a_url_and_words_are_a_command() -> None:
    assert find_target(["http://localhost:1/mcp"]).url == "http://localhost:1/mcp"
    assert find_target(["npx", "server", "--x"]).command == ("npx", "server", "--x")
    assert find_target(["npx 'my server'"]).command == ("npx", "my server")


def test_a_folder_without_a_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoPackageError):
        find_target([str(tmp_path)])


PROJECTS = {
    ".mcp.json": '{"mcpServers": {"x": {"command": "run", "args": ["-v"], "env": {"A": "1"}}}}',
    "package.json": '{"bin": {"x": "dist/index.js"}}',
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_folder_of_another_project_names_its_server(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PROJECTS[name])
    found = find_target([str(tmp_path)], environment=["B=2"])
    expected = {
        ".mcp.json": (("run", "-v"), {"A": "1", "B": "2"}),
        "package.json": (("node", str(tmp_path / "dist" / "index.js")), {"B": "2"}),
    }
    assert (found.command, found.environment) == expected[name]


def test_a_python_project_runs_the_script_of_its_own_environment(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\nmy-server = "x:main"\n')
    script = tmp_path / ".venv" / "bin" / "my-server"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert find_target([str(tmp_path)]).command == (str(script),)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (".mcp.json", '{"mcpServers": {}}', "0 servers"),
        (".mcp.json", "{", "does not say"),
        ("package.json", '{"bin": {"a": "a.js", "b": "b.js"}}', "2 programs"),
        ("pyproject.toml", '[project.scripts]\nno-such-script = "x:y"', "is not installed"),
    ],
)
def test_a_project_that_names_no_server_is_refused(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NoPackageError, match=said) as caught:
        find_target([str(tmp_path)])
    assert "`--`" in caught.value.help


def test_a_header_may_contain_equals_signs() -> None:
    found = find_target(["http://h/mcp"], headers=["X-Key=a=b"])
    assert found.headers == {"X-Key": "a=b"}


@pytest.mark.parametrize("text", ["novalue", "=value"])
def test_a_malformed_header_is_refused_without_its_value(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        find_target(["http://h/mcp"], headers=[text])
    assert "=value" not in str(caught.value)


def test_a_token_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    found = find_target(["http://h/mcp"], token_variable="MY_TOKEN")
    assert found.headers == {"Authorization": "Bearer s3cret"}
    assert "s3cret" in found.secrets


def test_a_missing_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_TOKEN", raising=False)
    with pytest.raises(TargetError, match="MY_TOKEN"):
        find_target(["http://h/mcp"], token_variable="MY_TOKEN")


def test_evidence_contains_no_secret() -> None:
    recording = Recording(("Bearer s3cret", "s3cret"))
    head = HttpHead("POST", "http://h/mcp?key=s3cret", (("authorization", "Bearer s3cret"),))
    frame = recording.add(Frame("sent", 0.0, b'{"x": "s3cret"}', http=head))
    shown = str(recording.evidence([frame]))
    assert "s3cret" not in shown
    assert "***" in shown


def test_evidence_is_short_and_a_recording_bounded() -> None:
    recording = Recording()
    for _ in range(MAX_FRAMES + 1):
        frame = recording.add(Frame("received", 0.0, b"x" * 100_000))
    assert len(recording.frames) == MAX_FRAMES
    (shown,) = recording.evidence([frame])
    assert len(shown["text"]) < 2000


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"hello", "not JSON"),
        (b'"\xff"', "not UTF-8"),
        (b"NaN", "NaN is not JSON"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_has_a_fault(raw: bytes, fault: str) -> None:
    message, found = decode(raw)
    assert message is None
    assert fault in found

"""Tests of the summary of `new`: sections that fit a screen, and the same content as JSON."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.cli.output.new_summary import summarize
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options, Report
from tests.support.paths import SPECS
from tests.support.projects import silent

ROWS = 23  # and the prompt of the shell below
COLUMNS = 80
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(document: str, **options: object) -> Report:
    given = Options(external_validator=False, models=False, cache=Path("cache").resolve())
    return new(str(SPECS / document), Path("made"), given, silent)


def show(report: Report, *, is_verbose: bool = False) -> str:
    assert report.plan is not None
    out = io.StringIO()
    summarize(Printer(stdout=out, is_verbose=is_verbose), report, report.plan)
    return out.getvalue()


@pytest.mark.parametrize("document", ["petstore.yaml", "twilio.yaml", "reonomy.yaml"])
def test_the_summary_fits_a_terminal_of_24_lines(
    document: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    report, out = make(document), Terminal()
    assert report.plan is not None

    summarize(Printer(stdout=out), report, report.plan)

    lines = [_ESCAPE.sub("", line).rstrip() for line in out.getvalue().splitlines()]
    rows = sum(max(1, -(-len(line) // COLUMNS)) for line in lines)
    assert rows <= ROWS, out.getvalue()


def test_a_pipe_gets_each_row_on_one_line(here: Path) -> None:
    shown = show(make("twilio.yaml"))

    assert "\nFound:\n  document    " in shown
    assert "\nDecided, with what changes it:\n  name         twilio-messaging: from" in shown
    assert "\x1b" not in shown
    assert "  base URL     https://" in shown


def test_details_are_counted_until_verbose_explains_them(here: Path) -> None:
    report = make("petstore.yaml")

    short, long = show(report), show(report, is_verbose=True)

    assert "also" in short
    assert "4 skills" in short
    assert "skills              4 skills: petstore" in long
    assert "PETSTORE_CA_FILE" not in short
    assert "PETSTORE_CA_FILE" in long
    assert "[--name, server.name]" in long


def test_json_has_what_the_summary_shows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", str(SPECS / "petstore.yaml"), "--no-models", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    (found,) = report["found"]
    assert found["operations"] == report["operations"] == 14
    assert found["tags"] == {"pets": 6, "store": 4, "users": 4}
    assert found["security_schemes"]["api_key"] == "API key in the header `X-Petstore-Key`"
    by_topic = {each["topic"]: each for each in report["decided"]}
    assert by_topic["base URL"] == {
        "topic": "base URL",
        "decision": "https://petstore.example/v1",
        "reason": "from the document",
        "change": ["--base-url", "sources.base_url", "PETSTORE_BASE_URL"],
    }
    assert by_topic["skills"]["change"] == ["skills"]


def test_the_first_command_works_when_it_is_pasted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = here / "one.yaml"
    document.write_text(
        'openapi: 3.1.0\ninfo: {title: One, version: "1"}\n'
        "servers: [{url: https://one.example}]\npaths:\n  /things/{id}/{kind}:\n    get:\n"
        "      operationId: getThing\n      parameters:\n"
        "        - {name: id, in: path, required: true, schema: {type: integer, minimum: 3}}\n"
        "        - {name: kind, in: path, required: true, schema: {enum: [a b]}}\n"
        '      responses: {"204": {description: None.}}\n'
    )
    assert run(["new", "one.yaml", "--no-models", "--json"]) == 0
    command = json.loads(capsys.readouterr().out)["next"][0]

    _, *words = shlex.split(command)

    assert words[:3] == ["call", "get_thing", "one-mcp"]
    assert "kind=a b" in words
    assert run(words) == 0


def test_hostile_texts_are_escaped(here: Path) -> None:
    document = here / "evil.yaml"
    document.write_text(
        'openapi: 3.1.0\ninfo: {title: "A\\e[2J", version: "1\\e]0;x\\a"}\n'
        'servers: [{url: "https://one.example/\\e[2J"}]\npaths:\n  /a:\n    get:\n'
        '      tags: ["\\e[31m"]\n      responses: {"204": {description: None.}}\n'
    )
    given = Options(external_validator=False, models=False, cache=here / "cache")

    assert "\x1b" not in show(new("evil.yaml", Path("made"), given, silent))

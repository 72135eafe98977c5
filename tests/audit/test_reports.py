"""Tests of audit reports: hostile text is escaped, secrets are masked, grades name what failed."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcpgen.cli.app import run
from tests.validate.examine import RUN

pytestmark = pytest.mark.slow

SECRET = 'sword"fish-4711'
REVISION = "2025-11-25"
OWN_TAGS = set(
    "html head meta title style body main section h1 h2 h3 p span div table thead tbody tr th td"
    " article dl dt dd details summary pre".split()
)
OWN_ATTRIBUTES = set("lang charset http-equiv content name class scope tabindex data-head".split())
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


class Page(HTMLParser):
    """The tags, attributes and texts of an HTML page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class Reports(NamedTuple):
    """The output and the report files of one run of the command."""

    code: int
    json: dict[str, Any]
    html: str
    markdown: str


def audit(folder: Path, capsys: pytest.CaptureFixture[str], module: str, name: str) -> Reports:
    files = {"html": folder / "out" / "audit.html", "markdown": folder / "out" / "audit.md"}
    options = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    command = [sys.executable, "-I", "-S", str(RUN), module, name]
    chosen = ("--revision", REVISION, "--intensity", "low", "--env", f"SERVER_SECRET={SECRET}")
    code = run(["audit", "--json", *chosen, *options, "--", *command])
    printed = capsys.readouterr().out
    texts = [file.read_text("utf-8") for file in files.values()]
    for text in (printed, *texts):
        assert SECRET not in text
        assert "fish-4711" not in text
    return Reports(code, json.loads(printed), *texts)


def test_hostile_text_becomes_neither_markup_nor_terminal_sequences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audit(tmp_path, capsys, "tests.audit.hostile", "Hostile")
    assert found.code == 1
    assert found.json["outcome"] == "failed"
    page = Page(found.html)
    assert page.tags <= OWN_TAGS
    assert page.attributes <= OWN_ATTRIBUTES
    assert "<script>alert(1)</script>" in "".join(page.texts)  # shown as text
    assert "default-src &#x27;none&#x27;" in found.html
    assert "***" in found.html
    assert CONTROLS.search(found.html) is None
    assert "\\u202e" in found.html
    assert CONTROLS.search(found.markdown) is None
    assert re.search(r"(?<![\\`])<(script|img)", found.markdown) is None
    rules = {(it["part"], it["rule"]) for it in found.json["findings"]}
    assert ("robustness", "stdout-noise") in rules
    assert ("robustness", "internal-error") in rules
    assert ("robustness", "process-ended") in rules
    lines = found.markdown.splitlines()
    heads = {line.count("|") for line in lines if line.startswith("| part")}
    row = next(line for line in lines if line.startswith("| Robustness"))
    assert {len(re.findall(r"(?<!\\)\|", row))} == heads


def test_what_is_printed_contains_no_terminal_sequences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [sys.executable, "-I", "-S", str(RUN), "tests.audit.hostile", "Hostile"]
    options = ["--revision", REVISION, "--intensity", "low", "--verbose"]
    assert run(["audit", *options, "--env", f"SERVER_SECRET={SECRET}", "--", *command]) == 1
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert CONTROLS.search(text) is None
        assert "fish-4711" not in text
    assert "not exercised:" in shown.out


def test_a_correct_server_passes_each_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audit(tmp_path, capsys, "tests.validate.servers.features", "Server")
    grades = {it["part"]: it["grade"] for it in found.json["parts"]}
    assert grades["validation"] == grades["robustness"] == "PASS"
    assert grades["authorization"] == "N/A"
    assert found.code == 0
    assert found.json["outcome"] == "passed"
    assert found.json["seed"] == 1
    gaps = next(it for it in found.json["parts"] if it["part"] == "robustness")["not_exercised"]
    assert "tool `find_city`" in {it["what"] for it in gaps}  # low calls two tools
    experiments = found.json["robustness"]["experiments"]
    assert all(it["messages"] for it in experiments if not it["not_exercised"])
    assert "## Robustness: PASS" in found.markdown


def test_one_failed_part_is_not_hidden_by_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audit(tmp_path, capsys, "tests.audit.broken.frames", "DiesOfScalar")
    grades = {it["part"]: it["grade"] for it in found.json["parts"]}
    assert grades["robustness"] == "FAIL"
    assert grades["validation"] == "PASS"
    assert found.code == 1
    (finding,) = [it for it in found.json["findings"] if it["part"] == "robustness"]
    assert finding["rule"] == "process-ended"
    assert finding["where"] == "frames-no-object stdio"
    assert finding["evidence"]
    assert finding["why"]
    assert finding["help"]


def test_an_unreachable_server_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--json", "--", sys.executable, "-c", "pass"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["outcome"] == "unreachable"
    assert {it["grade"] for it in printed["parts"]} == {"NOT RUN"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--intensity", "extreme", "--", "x"], "intensity"),
        (["--revision", "2025-11-26", "--", "x"], "unknown revision `2025-11-26`"),
        (["--transport", "stdio", "http://localhost/mcp"], "cannot be examined over stdio"),
        (["--token-from", "MCPGEN_NOT_SET", "http://localhost/mcp"], "is not set"),
    ],
)
def test_wrong_usage_exits_with_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_report_that_cannot_be_written_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    target = str(tmp_path / "file" / "audit.html")
    assert run(["audit", "--html", target, "--", sys.executable, "-c", "pass"]) == 2
    assert "cannot write" in capsys.readouterr().err

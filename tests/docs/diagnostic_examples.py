"""Examples of diagnostics: read from tests/docs/diagnostics/, and executed.

Each rule has a section there:

| in the section | meaning |
|---|---|
| prose | what the rule means; a line `Remedy: ...` where the message has no help |
| `<!-- case: NAME -->` | the example is the folder of tests/cases with that name |
| `<!-- project -->` | the example starts with a generated project in `server/` |
| ```` ```KIND title="PATH" ```` | a file of the example |
| ```` ```console ```` | its commands, and the first problem of the rule that the last one prints |
| `<!-- no example: REASON -->` | why there is none |

`openapi.yaml` and `mcpgen.yaml` are shortened: see `complete_file`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcpgen.cli.app import run
from tests.docs.page_runner import blocks_of, commands_of
from tests.journeys.runner import fits
from tests.support.paths import REPOSITORY

FOLDER: Final = REPOSITORY / "tests" / "docs" / "diagnostics"
DOCUMENT: Final = """\
openapi: 3.1.0
info: {title: Pets, version: '1'}
servers: [{url: https://api.example.com}]
paths: {/pets: {get: {operationId: listPets, responses: {'200': {description: All pets.}}}}}
"""
_MANIFEST: Final = """\
server: {name: pets}
sources: [{document: openapi.yaml}]
"""
_SECTION: Final = re.compile(r"^## `([\w-]+)`\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^<!-- (case|project|no example)(?:: (.+))? -->$", re.MULTILINE)
_PROBLEM: Final = re.compile(r"^(?:error|warning|note)\[([\w-]+)\]", re.MULTILINE)
_COUNT: Final = re.compile(r"\n\d+ (?:error|warning|note).*\s*$")


@dataclass(frozen=True, slots=True)
class Example:
    """The section of one rule."""

    rule: str
    text: str
    area: str  # the title of the section of the page

    @property
    def case(self) -> str:
        """The folder in tests/cases that contains the example, or ""."""
        return self._comments.get("case", "")

    @property
    def has_project(self) -> bool:
        """Whether the example starts with a generated project."""
        return "project" in self._comments

    @property
    def reason(self) -> str:
        """The reason why there is no example, or ""."""
        return self._comments.get("no example", "")

    @property
    def is_run(self) -> bool:
        """Whether the section has commands."""
        return any(block.kind == "console" for block, _ in blocks_of(self.text))

    @property
    def shown(self) -> str:
        """The section as it appears on the page."""
        return re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", self.text)).strip()

    @property
    def _comments(self) -> dict[str, str]:
        return {name: value or "" for name, value in _COMMENT.findall(self.text)}


def read_examples() -> dict[str, Example]:
    """Return the sections of all rules, by rule."""
    return {
        example.rule: example
        for path in sorted(FOLDER.glob("*.md"))
        for example in examples_of(path.read_text("utf-8"))
    }


def examples_of(page: str) -> Iterator[Example]:
    """Return the sections of one file."""
    title, *parts = _SECTION.split(page)
    for rule, text in zip(parts[::2], parts[1::2], strict=True):
        yield Example(rule, text.strip("\n"), title.removeprefix("# ").strip())


def run_example(example: Example, folder: Path, project: Path) -> str:
    """Run an example in an empty folder; return its section with what was printed.

    `project` is a generated project, which an example gets a copy of.
    """
    if example.has_project:
        shutil.copytree(project, folder, dirs_exist_ok=True)
    result = example.text
    for block, _ in blocks_of(example.text):
        if block.title:
            _write(folder / block.title, "\n".join(block.lines) + "\n")
        if block.kind != "console":
            continue
        commands = commands_of(block)
        if not (folder / "openapi.yaml").exists() and (folder / "mcpgen.yaml").exists():
            _write(folder / "openapi.yaml", DOCUMENT)
        printed = ""
        for command in commands:
            printed = run_command(command.line, folder)
        lines = [f"$ {it.line}" for it in commands]
        found = problem_of(example.rule, printed) or f"not reported, but:\n{printed}"
        expected = commands[-1].expected
        seen = expected if fits(expected, found.split("\n")) else [found]
        result = result.replace("\n".join(block.lines), "\n".join([*lines, *seen]))
    return result


def problem_of(rule: str, printed: str) -> str:
    """Return the first problem of a rule in what a command printed; "" if there is none."""
    found = list(_PROBLEM.finditer(printed))
    ends = [*(it.start() for it in found), len(printed)][1:]
    for match, end in zip(found, ends, strict=False):
        if match[1] == rule:
            return _COUNT.sub("", printed[match.start() : end].rstrip())
    return ""


def run_command(line: str, folder: Path) -> str:
    """Run a command of a shell, or of mcpgen in this process; return what it writes to stderr."""
    words = shlex.split(line)
    if words[0] != "mcpgen":
        done = subprocess.run(
            ["sh", "-ec", line], cwd=folder, check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stderr
    errors = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        run(words[1:])
    return errors.getvalue()


def complete_file(name: str, text: str) -> str:
    """Return a file of an example with the keys that examples omit, appended to it."""
    if name == "openapi.yaml" and not re.search(r"^(openapi|swagger):", text, re.MULTILINE):
        return text + _missing(DOCUMENT, text)
    if name == "mcpgen.yaml":
        return text + _missing(_MANIFEST, text)
    return text


def _missing(defaults: str, text: str) -> str:
    keys = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    lines = defaults.splitlines(keepends=True)
    return "".join(line for line in lines if line.partition(":")[0] not in keys)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(complete_file(path.name, text), "utf-8")

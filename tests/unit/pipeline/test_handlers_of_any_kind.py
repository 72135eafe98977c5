"""Tests that no command fails on or damages a user's `handlers/`, however they are written."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.changelog import changelog
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.pull import pull
from mcpgen.pipeline.options import GenerateOptions
from tests.support.projects import silent

pytestmark = pytest.mark.slow

HANDLERS = "src/pet_shop_mcp/handlers/pets.py"


@pytest.mark.parametrize(
    "place",
    [
        lambda handlers: (handlers / ".#pets.py").symlink_to("me@here.4711"),  # Emacs' mark
        lambda handlers: (handlers / "notes.py").mkdir(),
    ],
    ids=["a link to nowhere", "a folder"],
)
def test_entries_that_are_not_files_are_ignored(project, regenerate, take_over, place) -> None:
    place((project / HANDLERS).parent)
    assert take_over().outcome == "done"
    assert check(project).outcome == "done"
    assert regenerate().outcome == "done"


@pytest.mark.parametrize(
    "content",
    [
        b"def (",
        b"x = 1\0",
        b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n",
    ],
    ids=["no Python", "NUL", "Latin-1"],
)
def test_a_module_that_cannot_be_extended_is_reported_and_not_changed(
    project, take_over, content
) -> None:
    (project / HANDLERS).write_bytes(content)
    report = take_over()
    (problem,) = report.problems
    assert (report.outcome, problem.code, problem.at.file) == (
        "findings",
        "handler-unreadable",
        HANDLERS,
    )
    assert (project / HANDLERS).read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b'"""Mine."""\n\nimport os\n\n\ndef f() -> str:\n    return os.sep',
        b'\xef\xbb\xbf"""Mine."""\nimport os\nx=1\n',
        b'"""Mine."""\r\nimport os\r\nx=1\r\n',
        b'"""Page.\x0c\nNext.\x0c\nLast.\xe2\x80\xa9\n\nEnd."""\n\n\nx=1\n',
        b"#!/usr/bin/env python3\n# Who may copy this.\n\nx=1\n",
        b"# notes",
        b"",
    ],
    ids=["no last line end", "BOM", "CRLF", "form feeds", "comments first", "comment", "empty"],
)
def test_a_stub_is_added_to_a_module_with_any_encoding_and_line_ends(
    project, take_over, content
) -> None:
    (project / HANDLERS).write_bytes(content)
    assert take_over().outcome == "done"
    joined = (project / HANDLERS).read_bytes()
    assert ast.get_docstring(ast.parse(joined)) == ast.get_docstring(ast.parse(content))
    lines = iter(joined.splitlines())
    assert all(line in lines for line in content.splitlines()), "what was there, in its order"
    assert joined.startswith(content.partition(b"\n")[0].rstrip(b"\r"))
    ends = {line[len(line.rstrip(b"\r\n")) :] for line in joined.splitlines(keepends=True)}
    assert ends == ({b"\r\n"} if b"\r" in content else {b"\n"})
    assert check(project).outcome == "done"


def test_a_stub_does_not_reuse_the_name_of_a_function(project, take_over) -> None:
    (project / HANDLERS).write_text("def get_pet(): ...\n\n\ndef get_pet_override(): ...\n")
    assert take_over().function == "handlers/pets.py:get_pet_override_override"


def test_locations_use_the_line_numbers_of_python(project) -> None:
    imported = 'from mcpgen.runtime import override\n"""\x0c"""\n\n\n'
    (project / HANDLERS).write_text(f'{imported}@override("GET /nowhere")\ndef f(): ...\n')
    (problem, *_) = check(project).problems
    assert (problem.at.line, problem.at.excerpt) == (5, '@override("GET /nowhere")')


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("path", ["README.md", "mcpgen.lock"])
def test_an_unreadable_file_is_reported_by_name(project, regenerate, cache, path) -> None:
    options = GenerateOptions(cache=cache)
    (project / path).unlink(missing_ok=True)
    (project / path).symlink_to(Path(path).name)  # to itself
    reports = [check(project), regenerate(), regenerate(dry_run=True)]
    if path == "mcpgen.lock":
        reports.append(changelog(project, None, options, silent))
        reports.append(pull(project, None, options, silent))
    for report in reports:
        (problem,) = report.problems
        assert report.outcome == "usage"
        assert f"{path}: Too many levels of symbolic links" in problem.message

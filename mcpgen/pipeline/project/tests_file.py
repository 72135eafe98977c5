"""The cases that a person wrote for a server, found in its folder."""

from __future__ import annotations

import json
from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.tests_file import TESTS_FILE, LocatedTests
from mcpgen.pipeline.project.project_folder import read_file


def read_own_cases(target: Path, problems: Problems) -> LocatedTests | None:
    """Read `mcpgen.tests.yaml`; None where there is none, or, with problems, where it is wrong."""
    content = read_file(target, TESTS_FILE)
    return None if content is None else parse_own_cases(content, target, problems)


def parse_own_cases(content: bytes, target: Path, problems: Problems) -> LocatedTests | None:
    """Read the cases of the server at `target`; None, with problems, where the file is wrong."""
    from mcpgen.manifest.typed_file import read_tests  # a validator and YAML

    upstream = json.loads(read_file(target, "tests/generated/upstream.json") or b"{}")
    described = upstream.get("operations", ())
    operations = [it.get("key", f"{it['method']} {it['path']}") for it in described]
    try:
        return read_tests(content, operations, problems)
    except RejectedError:
        return None

"""Parsing of the `waivers.yaml` of a project."""

from __future__ import annotations

from collections.abc import Collection

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.waivers import Waiver
from mcpgen.manifest.waivers_file import read_waivers_file


def parse_project_waivers(
    content: bytes, rules: Collection[str], rules_of_tools: Collection[str], problems: Problems
) -> tuple[Waiver, ...]:
    """Parse the waivers of a project, which may name these rules.

    Raises:
        RejectedError: the file is invalid, for the reasons in `problems`.
    """
    found = Problems()
    try:
        return read_waivers_file(content, rules, rules_of_tools, found)
    except RejectedError:
        problems.extend(found)
        raise

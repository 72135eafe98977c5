"""Run workspace commands in this process, and read their JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcpgen.cli.app import run

Ws = Callable[..., tuple[int, dict[str, Any]]]


def make_ws(capsys: pytest.CaptureFixture[str]) -> Ws:
    """Return a function that runs `mcpgen ws` and returns the exit code and the JSON."""

    def ask(*words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run(["ws", *words, "--json"])
        captured = capsys.readouterr()
        assert captured.err == ""
        return code, json.loads(captured.out)

    return ask


def ended(report: dict[str, Any]) -> dict[str, int]:
    """Return the exit code of each server."""
    return {each["server"]: each["exit_code"] for each in report["servers"]}


def rules(report: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the rule and the file of each finding."""
    return [(finding["rule"], finding["file"]) for finding in report["findings"]]

"""Tests that the generated tests detect faults written by hand into generated code."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.test.mutation.campaign import Bench
from mcpgen.factory.test.mutation.mutants import Mutant, PackageFiles, TextChange
from tests.support.paths import EXAMPLES

FAULTS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "faults.toml").read_text("utf-8")
)["fault"]


@cache
def bench(server: str) -> Bench:
    return Bench(EXAMPLES / f"{server}-mcp")


def mutant(fault: dict[str, Any]) -> Mutant:
    changes = (change(fault["server"], fault),)
    return Mutant("by-hand", fault["tool"], fault["file"], fault["id"], changes)


def change(server: str, edit: dict[str, str]) -> TextChange:
    package = PackageFiles.read(EXAMPLES / f"{server}-mcp")
    file = f"{package.generated}/{edit['file']}"
    text = package.originals[file].decode()
    begin = edit.get("after", "")
    assert begin in text, begin
    start = text.index(edit["old"], text.index(begin) + len(begin))
    return TextChange(file, start, start + len(edit["old"]), edit["new"])


@pytest.mark.parametrize("server", ["bookshop", "petstore"])
def test_without_a_fault_the_tests_pass(server: str) -> None:
    assert bench(server).failure() == ""


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["id"] for fault in FAULTS])
def test_the_tests_detect_a_fault(fault: dict[str, Any]) -> None:
    verdict = bench(fault["server"]).judge(mutant(fault))

    assert verdict.outcome == ("survived" if "survives" in fault else "killed")


def test_at_least_38_of_forty_faults_are_detected() -> None:
    survivors = [fault for fault in FAULTS if "survives" in fault]

    assert len(FAULTS) >= 40
    assert len(FAULTS) - len(survivors) >= 38

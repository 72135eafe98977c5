"""Tests of the stages of a run: times, records, and output with and without a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.stages import Stages
from mcpgen.pipeline.options import StageNote


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ticking(*times: float) -> Iterator[float]:
    yield from times


def run_stages(*times: float) -> Stages:
    stages = Stages(clock=ticking(*times).__next__)
    with stages.run():
        stages("load a.yaml")
        stages(StageNote("3 of 14 operations"))
        stages(StageNote("14 operations"))
        stages("plan")
    return stages


def test_a_stage_ends_when_the_next_one_begins() -> None:
    stages = run_stages(0.0, 2.0, 2.0, 2.5).stages

    assert [(it.name, it.note, it.seconds) for it in stages] == [
        ("load a.yaml", "14 operations", 2.0),
        ("plan", "", 0.5),
    ]


def test_the_record_names_the_slow_stages_only() -> None:
    assert run_stages(0.0, 2.0, 2.0, 2.5).record() == "2 stages in 2.50s: load 2.00s, plan 0.50s"
    assert run_stages(0.0, 2.0, 2.0, 2.1).record() == "2 stages in 2.10s: load 2.00s"


def test_the_record_fits_a_line_however_many_stages_are_slow() -> None:
    stages = Stages(clock=iter(range(100)).__next__)
    with stages.run():
        for number in range(9):
            stages(f"stage{number} https://{'a' * 100}.example")

    assert stages.record() == "9 stages in 9.00s: stage8 1.00s, stage7 1.00s, stage6 1.00s"


def test_the_clock_stands_while_the_user_answers() -> None:
    stages = Stages(clock=ticking(0.0, 1.0, 100.0, 101.0).__next__)
    with stages.run():
        stages("plan")
        with stages.pause_clock():
            pass

    assert stages.stages[0].seconds == 2.0


def test_an_exception_marks_the_last_stage_as_failed() -> None:
    stages = Stages()
    with suppress(ValueError), stages.run():
        stages("plan")
        raise ValueError("no")

    assert stages.has_failed
    assert stages.stages[0].seconds is not None


def test_without_a_terminal_only_verbose_prints_stages_as_plain_lines() -> None:
    for options, is_printed in (
        ({}, False),
        ({"is_verbose": True}, True),
        ({"is_verbose": True, "is_quiet": True}, False),
        ({"is_verbose": True, "as_json": True}, False),
    ):
        stderr = io.StringIO()
        with Printer(stderr=stderr, **options).stages() as stages:
            stages("load \x1b[2Ja.yaml")
            stages(StageNote("14 operations"))
        shown = stderr.getvalue()
        assert shown.startswith("load \\u001b[2Ja.yaml: 14 operations, in 0.0") is is_printed
        assert bool(shown) is is_printed


@pytest.mark.parametrize("option", ["is_quiet", "is_unattended", "as_json"])
def test_nothing_is_animated_for_programs(option: str) -> None:
    stderr = Terminal()

    with Printer(stderr=stderr, **{option: True}).stages() as stages:
        stages("plan")

    assert stderr.getvalue() == ""


def test_a_terminal_keeps_one_line_of_a_run_that_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stderr = Terminal()

    with Printer(stderr=stderr).stages() as stages:
        stages("plan")

    assert re.search(r"1 stage in \d\.\d\ds: plan \d\.\d\ds\Z", stderr.getvalue().rstrip())


def test_a_terminal_keeps_all_stages_of_a_run_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stderr = Terminal()

    with Printer(stderr=stderr).stages() as stages:
        stages("load a.yaml")
        stages("validate")
        stages.has_failed = True

    *_, load, validate = stderr.getvalue().splitlines()
    assert re.match(r"\S*✓\S* load a\.yaml ", load)
    assert re.match(r"\S*✗\S* validate ", validate)


def test_a_dumb_terminal_is_not_animated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stderr = Terminal()

    with Printer(stderr=stderr).stages() as stages:
        stages("plan")

    assert stderr.getvalue() == ""

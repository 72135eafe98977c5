"""A summary at the end of a run: the result for each real document."""

from __future__ import annotations

import pytest

SERVED = "served of a real document"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == SERVED
    ]
    if lines:
        terminalreporter.section("real documents")
        for line in sorted(lines):
            terminalreporter.write_line(str(line))

"""Results of tests in groups, and JUnit reports of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from msgspec import Struct, field

_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


class Group(Struct):
    """The tests of one tool, of the whole server, or of one file of the user."""

    name: str
    passed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # test and reason
    untested: list[tuple[str, str]] = field(default_factory=list)  # test and reason
    is_tool: bool = False

    def add(self, test: str, problems: Sequence[str]) -> None:
        """Add a test that was run; without problems, it has passed."""
        if problems:
            self.failed.append((test, "\n".join(problems)))
        else:
            self.passed.append(test)

    @property
    def ran(self) -> int:
        """The number of tests that were run."""
        return len(self.passed) + len(self.failed)


def add_to_report(junit: Path, groups: Sequence[Group]) -> None:
    """Append groups to a report; create it if it does not exist.

    Raises:
        OSError: the report cannot be written.
    """
    if junit.is_file():
        root = ElementTree.parse(junit).getroot()  # noqa: S314  (the pytest that we started wrote it)
    else:
        junit.parent.mkdir(parents=True, exist_ok=True)
        root = ElementTree.Element("testsuites")
    for group in groups:
        outcomes = [
            *((test, "", "") for test in group.passed),
            *((test, "failure", why) for test, why in group.failed),
            *((test, "skipped", why) for test, why in group.untested),
        ]
        counts = {
            "tests": str(len(outcomes)),
            "failures": str(len(group.failed)),
            "skipped": str(len(group.untested)),
        }
        suite = ElementTree.SubElement(root, "testsuite", {"name": group.name, **counts})
        for test, outcome, why in outcomes:
            named = {"classname": group.name, "name": _replace_illegal(test)}
            case = ElementTree.SubElement(suite, "testcase", named)
            if outcome:
                ElementTree.SubElement(case, outcome, {"message": _replace_illegal(why)})
    ElementTree.ElementTree(root).write(junit, "utf-8", xml_declaration=True)


def join_reports(reports: Sequence[Path], joined: Path) -> None:
    """Write one report of the suites of several.

    Raises:
        OSError: it cannot be written.
    """
    root = ElementTree.Element("testsuites")
    for report in reports:
        root.extend(ElementTree.parse(report).getroot())  # noqa: S314  (of the pytest that we started)
    joined.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(joined, "utf-8", xml_declaration=True)


def _replace_illegal(text: str) -> str:
    """Replace characters that are invalid in XML (XML 1.0, `Char`)."""
    return _NOT_IN_XML.sub("\ufffd", text)

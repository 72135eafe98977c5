"""What the README of a server says of its tests: the evidence, while it holds, and else nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpgen.emit.merge.merge import TESTS, with_block
from mcpgen.pipeline.project.atomic_write import write_atomically
from mcpgen.pipeline.project.evidence import is_evidence_current, read_evidence
from mcpgen.pipeline.project.project_folder import read_file

README_FILE = "README.md"


def show_tests(target: Path) -> tuple[str, ...]:
    """Bring the README's block of the tests up to the evidence; give the path if it was written.

    Raises:
        OSError: the disk refused.
    """
    content = read_file(target, README_FILE)
    if content is None or set_figures(content, "") == set_figures(content, "?"):
        return ()  # it has no such block
    evidence = read_evidence(target, TESTS)
    is_current = evidence is not None and is_evidence_current(target, evidence)
    shown = format_figures(evidence) if evidence is not None and is_current else ""
    changed = set_figures(content, shown)
    if changed == content:
        return ()
    write_atomically((target / README_FILE).resolve(), changed)
    return (README_FILE,)


def set_figures(readme: bytes, shown: str) -> bytes:
    """Give a README with other figures in its block of the tests, if it has one."""
    try:
        return with_block(readme.decode(), TESTS, shown).encode()
    except UnicodeDecodeError:
        return readme  # in an encoding of the user's own


def format_figures(evidence: Mapping[str, Any]) -> str:
    """Say in figures what tests found; it has no date, so that it changes only with them."""
    counts, cases = _numbers(evidence.get("tests")), _numbers(evidence.get("cases"))
    said = [f"{count:,} {what}" for what, count in counts.items() if count or what == "passed"]
    sentences = [f"Tests: {', '.join(said)}."]
    if cases:
        least, most, mean = (
            min(cases.values()),
            max(cases.values()),
            sum(cases.values()) / len(cases),
        )
        sentences.append(
            f"Calls of each of the {len(cases):,} tools: {least} to {most}, {mean:.0f} on average."
        )
    mutation = _numbers(evidence.get("mutation"))
    if mutation.get("judged"):
        killed, judged = mutation.get("killed", 0), mutation["judged"]
        sentences.append(
            f"Faults that the tests noticed: {killed:,} of {judged:,} ({killed / judged:.1%})."
        )
    return "\n".join(sentences)


def _numbers(value: Any) -> dict[str, int]:
    """The counts among the members of what should be an object."""
    members = value.items() if isinstance(value, dict) else ()
    return {str(name): count for name, count in members if type(count) is int}

"""Recording of the result of a check of a generated package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER, show_figures, write_evidence


def record_evidence(
    printer: Printer, directory: Path, check: str, evidence: Mapping[str, Any]
) -> None:
    """Record a result with the hashes of its inputs; note it if the disk refuses."""
    try:
        write_evidence(directory, check, evidence)
        show_figures(directory)
    except OSError as error:
        printer.note(
            "no-evidence",
            f"cannot write {EVIDENCE_FOLDER}/{check}.json: {error.strerror}",
            why="`.mcpgen/evidence` records what was checked",
            help=f"make the folder writable, and run `mcpgen {check}` again",
        )

"""Set values in the manifest of a project; comments and formatting stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.manifest_entries import set_values
from mcpgen.emit.manifest_text import ManifestEditError
from mcpgen.emit.reconcile import format_diff
from mcpgen.emit.write import BusyError, RefusedError, is_interrupted, lock_project
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.jsonschema.types import JsonValue
from mcpgen.pipeline.options import Outcome
from mcpgen.pipeline.project.disk import report_interrupted, report_refused, write_atomically
from mcpgen.pipeline.project.project_folder import read_file

Values = Mapping[tuple[str, ...], JsonValue]
"""Values by the keys that lead to them."""


class ManifestEdit(Struct, frozen=True):
    """An edit of the manifest; `after` is None if the manifest cannot be edited."""

    outcome: Outcome
    before: bytes = b""
    after: bytes | None = None

    @property
    def diff(self) -> str:
        """The edit as a unified diff."""
        after = self.before if self.after is None else self.after
        return format_diff(MANIFEST_FILE, self.before, after, ("now", "with --fix"))


def prepare_manifest_edit(target: Path, values: Values, problems: Problems) -> ManifestEdit:
    """Return the manifest of the project with `values`; nothing is written."""
    before = read_file(target, MANIFEST_FILE) or b""
    try:
        return ManifestEdit(Outcome.DONE, before, set_values(before, values))
    except (ManifestEditError, UnicodeDecodeError):
        written = "; ".join(f"`{'.'.join(keys)}: {value}`" for keys, value in values.items())
        problems.error(
            "manifest-edit",
            f"cannot edit {MANIFEST_FILE} as it is written",
            at=Location(MANIFEST_FILE),
            why="an edit would change more of the file than these values",
            help=f"write {written}",
        )
        return ManifestEdit(Outcome.REJECTED, before)


def write_manifest_edit(target: Path, edit: ManifestEdit, problems: Problems) -> Outcome:
    """Write a prepared edit, unless the manifest has changed meanwhile."""
    if edit.after is None:
        return edit.outcome
    try:
        with lock_project(target):
            if is_interrupted(target):
                return report_interrupted(target, problems)
            if read_file(target, MANIFEST_FILE) != edit.before:
                raise BusyError(f"{MANIFEST_FILE} changed meanwhile")
            write_atomically((target / MANIFEST_FILE).resolve(), edit.after)
    except (OSError, RefusedError) as error:
        return report_refused(error, target, problems)
    return Outcome.DONE

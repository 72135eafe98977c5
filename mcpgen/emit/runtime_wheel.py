"""The wheel of this mcpgen, built from its own installation: `vendor/` of a server project.

A project with this wheel can be installed anywhere, even if no package registry has mcpgen. Its
bytes depend only on the content of the installation: its entries are sorted, and `make_archive`
adds nothing that differs between machines (git compresses what it stores anyway).

Source: the binary distribution format of the Python Packaging User Guide.
"""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import io
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from mcpgen.emit.lockfile import with_lf
from mcpgen.ir.archive import make_archive
from mcpgen.ir.file_set import VENDORED_WHEEL, Owner, PlannedFile
from mcpgen.ir.templates import template_root

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_PACKED_TEMPLATES: Final = "mcpgen/_templates"
_METADATA_FIELDS: Final = (
    "Name",
    "Version",
    "Summary",
    "License-Expression",
    "License-File",
    "Requires-Python",
    "Requires-Dist",
    "Provides-Extra",
)


@functools.cache  # the same for every project of a workspace
def make_runtime_wheel() -> PlannedFile:
    """Build the wheel of the installed mcpgen.

    It installs like the original, with its extras; only the long description is omitted.
    """
    installed = distribution("mcpgen")
    version = installed.version.replace("-", "_")
    folder = f"mcpgen-{version}.dist-info"
    files = dict(_package_files())
    files |= {f"{folder}/{name}": content for name, content in _metadata(installed)}
    record = f"{folder}/RECORD"
    files[record] = _record(files, record)
    path = f"{VENDORED_WHEEL}{version}-py3-none-any.whl"
    # the metadata comes last
    order = sorted(files, key=lambda name: (".dist-info/" in name, name))
    return PlannedFile(path, make_archive({name: files[name] for name in order}), Owner.GENERATED)


def _package_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package, by path in the wheel."""
    for root, folder in ((_PACKAGE, "mcpgen"), (template_root(), _PACKED_TEMPLATES)):
        for path in root.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{folder}/{path.relative_to(root).as_posix()}", with_lf(path.read_bytes())


def _metadata(installed: Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield the metadata files: the same for a wheel, a clone and an editable installation."""
    lines = ["Metadata-Version: 2.4"]
    for field in _METADATA_FIELDS:
        lines += [f"{field}: {value}" for value in installed.metadata.get_all(field) or ()]
    yield "METADATA", ("\n".join(lines) + "\n").encode()
    tags = "Wheel-Version: 1.0\nGenerator: mcpgen\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    yield "WHEEL", tags.encode()
    licenses = installed.metadata.get_all("License-File") or ()
    for name in ("entry_points.txt", *(f"licenses/{each}" for each in licenses)):
        if (text := installed.read_text(name)) is not None:
            yield name, with_lf(text.encode())


def _record(files: Mapping[str, bytes], record: str) -> bytes:
    """Return the list of files with hash and size, as CSV; the list itself has neither."""
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    for path, content in sorted(files.items()):
        rows.writerow((path, f"sha256={_digest(content)}", len(content)))
    rows.writerow((record, "", ""))
    return lines.getvalue().encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

"""Zip archives whose bytes depend on their content alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can express


def make_archive(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files by path, in their order; the same bytes on every machine.

    All files have the same time and mode. Nothing is compressed, since implementations of zlib
    differ in their output.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _EARLIEST)
            entry.create_system = 3  # Unix, also where Windows writes it
            entry.external_attr = 0o100644 << 16
            written.writestr(entry, content)
    return archive.getvalue()

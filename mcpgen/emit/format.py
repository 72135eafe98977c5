"""Formatting of all Python files by one run of ruff, independent of any configuration."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from mcpgen.emit.child_faults import system_error
from mcpgen.emit.scratch import scratch_folder
from mcpgen.ir.file_set import FileSet

LINE_LENGTH = 100
_TARGET = "py311"
_TIMEOUT_SECONDS = 60


class FormatFailedError(Exception):
    """ruff rejected a file: a template or a view rendered invalid Python."""


def format_files(files: FileSet, *, sort_imports: bool = False) -> FileSet:
    """Format the Python files among `files`; return all files.

    With `sort_imports`, sort their imports as well, which those that mcpgen renders are already.

    Raises:
        FormatFailedError: a file is not valid Python.
    """
    with scratch_folder() as root:
        python = [file for file in files if file.path.endswith(".py")]
        for file in python:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
        if python:
            if sort_imports:
                _ruff(["check", "--fix-only", "--select", "I", *_first_party(root)], root)
            _ruff(["format"], root)
        formatted = {file.path: (root / file.path).read_bytes() for file in python}
    return tuple(
        replace(file, content=formatted[file.path]) if file.path in formatted else file
        for file in files
    )


def _first_party(root: Path) -> list[str]:
    source = root / "src"
    names = sorted(path.name for path in source.iterdir()) if source.is_dir() else []
    return ["--config", f"lint.isort.known-first-party={names!r}"]


def _ruff(arguments: Sequence[str], folder: Path) -> None:
    # Imported here: only a run that writes Python needs to know where ruff is.
    from ruff import find_ruff_bin  # type: ignore[import-untyped]  # it ships no types

    command, *options = arguments
    fixed = ["--isolated", "--no-cache", "--quiet", "--target-version", _TARGET]
    fixed += ["--config", f"line-length={LINE_LENGTH}"]
    done = subprocess.run(  # noqa: S603 - our own dependency, our own arguments
        [find_ruff_bin(), command, *fixed, *options, "."],
        cwd=folder,
        capture_output=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        stderr = done.stderr.decode(errors="replace").strip()
        raise system_error(done.returncode, stderr, str(folder)) or FormatFailedError(stderr)

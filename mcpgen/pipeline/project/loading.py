"""Check that the server starts with its `handlers/`, by loading them in a child process.

User code never runs in this process. A successful load is recorded in the user's cache with a hash
of all that it depends on, so the next check of the same handlers takes a few milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping
from pathlib import Path

from mcpgen.cache_files import touch
from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile import sha256
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.user_cache import code_digest, user_cache
from mcpgen.text.prose import text_lines

TIMEOUT_SECONDS = 60  # for imports that take long; a server of generated code alone takes 0.2
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+): (?P<text>.*)", re.DOTALL)
_WORDS = (b"Features", b"override", b"before", b"after")  # as the runtime chooses its modules


def check_loading(target: Path, problems: Problems, cache: Path | None = None) -> bool:
    """Report what stops the server at its start; return whether anything does.

    What only this machine lacks, such as a setting, is a note: there is nothing to fix.
    """
    package = _package_with_handlers(target)
    if package is None:
        return False
    note = _note(target, package, cache)
    if note is not None and note.exists():
        return False
    failure = _load(target, package.name)
    if not failure:
        if note is not None:
            touch(note)
        return False
    return _report(failure, target, problems)


def _package_with_handlers(target: Path) -> Path | None:
    """Find the package, if its server imports any module of `handlers/`."""
    for handlers in sorted(target.glob("src/*/handlers")):
        modules = [path for path in handlers.glob("*.py") if path.is_file()]
        if any(word in path.read_bytes() for path in modules for word in _WORDS):
            return handlers.parent
    return None


def _note(target: Path, package: Path, cache: Path | None) -> Path | None:
    """Return the path of the note of a successful load, by the code, ours, and the packages."""
    with contextlib.suppress(OSError):
        installed = Path(sysconfig.get_path("purelib")).stat().st_mtime_ns
        parts = [code_digest().encode(), f"{sys.executable} {sys.version} {installed}".encode()]
        parts.append(sha256(read_file(target, LOCK_FILE) or b"").encode())
        for path in sorted(package.rglob("*.py")):
            if path.is_file():
                name = path.relative_to(target).as_posix()
                parts.append(f"{name} {sha256(path.read_bytes())}".encode())
        return (cache or user_cache()) / "loaded" / sha256(b"\n".join(parts))
    return None


def _load(target: Path, package: str) -> Mapping[str, str]:
    """Load the server in a child process; return its report, or how the process ended."""
    path = os.pathsep.join(
        filter(None, [str((target / "src").resolve()), os.environ.get("PYTHONPATH")])
    )
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-m", "mcpgen.runtime.startup.loading", package],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"text": f"loading it takes more than {TIMEOUT_SECONDS} seconds"}
    try:
        report: Mapping[str, str] = json.loads(done.stdout)
    except ValueError:  # a module ended the process
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return {"text": ": ".join([f"loading it ends with exit code {done.returncode}", *last])}
    return report


def _report(failure: Mapping[str, str], target: Path, problems: Problems) -> bool:
    found = _PLACE.fullmatch(failure["text"])
    text = found["text"] if found else failure["text"]
    at = _location(target, found["path"], int(found["line"])) if found else None
    module, setting = failure.get("module", ""), failure.get("setting", "")
    if setting or (module and _is_declared(module, target)):
        lacking = f"the setting `{setting}`" if setting else f"the module `{module}`"
        problems.note(
            "handlers-not-loaded",
            f"`handlers/` cannot be checked here without {lacking}",
            at=at,
            why=text,
            help=f"set `{setting}`" if setting else "install the server's dependencies",
        )
        return False
    problems.error(
        "handler-broken",
        "the server does not start: its `handlers/` cannot be loaded",
        at=at,
        why=text,
        help="add the module to `dependencies` in pyproject.toml, and install it"
        if module and not _is_own(module, target)
        else "run `mcpgen generate`, which declares the types of calls that your code names"
        if "._generated.calls" in text
        else "correct it; `mcpgen check` then loads it again",
    )
    return True


def _is_own(module: str, target: Path) -> bool:
    return (target / "src" / module.partition(".")[0]).is_dir()


def _is_declared(module: str, target: Path) -> bool:
    """Return whether a module may come from a dependency that the server declares."""
    try:
        project = tomllib.loads((read_file(target, "pyproject.toml") or b"").decode())["project"]
        declared = [re.split(r"[^\w.-]", text)[0] for text in project["dependencies"]]
    except (ValueError, LookupError, TypeError):
        return False
    words = {_plain(name) for name in declared} - {"mcpgen"}
    name = _plain(module.partition(".")[0])
    return any(name in word or word in name for word in words)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


def _location(target: Path, path: str, line: int) -> Location | None:
    """Return the location of a line of the project; None for a file outside the project."""
    try:
        inside = Path(path).resolve().relative_to(target.resolve()).as_posix()
    except ValueError:
        return None
    lines = text_lines((read_file(target, inside) or b"").decode("utf-8", "replace"))
    excerpt = lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else ""
    indent = len(excerpt) - len(excerpt.lstrip())
    return Location(inside, line, indent + 1, excerpt=excerpt, width=max(1, len(excerpt.strip())))

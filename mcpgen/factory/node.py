"""Node and the npm packages that are installed: in `node_modules` here, or npm's global folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

LOCAL: Final = Path("node_modules")
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_VERSION_SECONDS: Final = 30


def find_node() -> str:
    """Return the path of Node, of the npm package `node` or on PATH; "" if there is none."""
    own = LOCAL / "node" / "bin" / "node"
    return str(own.resolve()) if own.is_file() else shutil.which("node") or ""


def read_node_version(node: str) -> tuple[int, ...]:
    """Return the three numbers of a Node's version; () if it does not print them."""
    try:
        done = subprocess.run(  # noqa: S603 - a program of the user
            [node, "--version"], capture_output=True, timeout=_VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = _VERSION.match(done.stdout.decode(errors="replace").strip())
    return tuple(map(int, found.groups())) if found else ()


def find_npm_package(name: str, version: str = "") -> Path | None:
    """Return the folder of an installed npm package; if `version` is stated, only that version."""
    npm = Path(shutil.which("npm") or "npm").resolve()
    for root in (LOCAL, *(it for it in npm.parents if it.name == "node_modules")):
        folder = root / name
        if (folder / "package.json").is_file() and version in ("", read_package_version(folder)):
            return folder.resolve()
    return None


def read_package_version(folder: Path) -> str:
    """Return the version in a `package.json`; "" if it states none."""
    try:
        stated = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return str(stated.get("version", "")) if isinstance(stated, dict) else ""

"""Builds the bundles of a server, and writes them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from mcpgen.factory.bundle.agent_plugin import build_agent_plugin
from mcpgen.factory.bundle.claude_plugin import build_claude_plugin
from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.docker_catalogue import build_docker_catalogue
from mcpgen.factory.bundle.mcpb import build_mcpb
from mcpgen.factory.bundle.server_json import build_server_json

FORMATS: Final[dict[str, Callable[[BundleDescription], Bundle]]] = {
    "mcpb": build_mcpb,
    "plugin": build_agent_plugin,
    "claude-plugin": build_claude_plugin,
    "docker": build_docker_catalogue,
    "server-json": build_server_json,
}
"""The builder of each format, by its name on the command line."""


def build_bundles(description: BundleDescription, formats: Iterable[str]) -> list[Bundle]:
    """Return the bundles of a server in these formats."""
    return [FORMATS[name](description) for name in formats]


def write_bundles(out: Path, bundles: Sequence[Bundle]) -> None:
    """Write bundles into a folder, all or none; they replace earlier ones of the same path.

    Raises:
        OSError: the disk refused; the folder is as it was.
    """
    out.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(dir=out, prefix=".mcpgen-bundle-"))
    try:
        for number, bundle in enumerate(bundles):
            _write(stage / f"new-{number}", bundle)
        _replace(out, stage, bundles)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _write(place: Path, bundle: Bundle) -> None:
    """Write one bundle; modes do not depend on the umask."""
    if isinstance(bundle.content, bytes):
        place.write_bytes(bundle.content)
        place.chmod(0o644)
        return
    place.mkdir()
    for path, content in bundle.content.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o644)
    for folder in (place, *(path for path in place.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _replace(out: Path, stage: Path, bundles: Sequence[Bundle]) -> None:
    """Move staged bundles into their places; if one cannot be moved, restore all."""
    moved: list[tuple[Path, Path | None]] = []  # each target, and the previous content's path
    try:
        for number, bundle in enumerate(bundles):
            place = out / bundle.path
            place.parent.mkdir(parents=True, exist_ok=True)
            former = stage / f"old-{number}" if place.exists() or place.is_symlink() else None
            if former:
                place.rename(former)
            moved.append((place, former))
            (stage / f"new-{number}").rename(place)
    except OSError:
        for place, former in reversed(moved):
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
            if former:
                former.rename(place)
        raise

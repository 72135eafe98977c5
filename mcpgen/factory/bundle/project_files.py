"""The files of a generated project that its bundles contain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from mcpgen.contract.server_settings import SERVER_SETTINGS
from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.packages import GeneratedPackage

_ROOT_FILES: Final = ("pyproject.toml", "README.md")
_LICENSES: Final = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*")  # as build backends find them
_SKILL: Final = "SKILL.md"
_SHORTEST_SECRET: Final = 8  # characters; shorter values occur in texts by chance


def collect_project_files(package: GeneratedPackage, problems: Problems) -> dict[str, bytes]:
    """Read the files that the server is installed from, by path; hidden files are omitted."""
    root = package.directory
    paths = [root / name for name in _ROOT_FILES if (root / name).is_file()]
    paths += [path for pattern in _LICENSES for path in root.glob(pattern) if path.is_file()]
    paths += [*_walk(root / "src" / package.name), *root.glob("vendor/*.whl")]
    return _read(root, paths, problems)


def collect_skills(package: GeneratedPackage, problems: Problems) -> dict[str, bytes]:
    """Read the files of the skills by path: "skills/NAME/…".

    A skill that the owner wrote in `src/PACKAGE/skills` replaces a generated one of its name.
    """
    found: dict[str, Path] = {}
    source = package.directory / "src" / package.name
    for folder in (source / "_generated" / "skills", source / "skills"):
        skills = folder.iterdir() if folder.is_dir() else ()
        found |= {path.name: path for path in skills if (path / _SKILL).is_file()}
    files: dict[str, bytes] = {}
    for name, folder in sorted(found.items()):
        read = _read(package.directory, _walk(folder), problems)
        inside = folder.relative_to(package.directory).as_posix()
        files |= {f"skills/{name}{path.removeprefix(inside)}": read[path] for path in read}
    return files


def report_secrets(
    package: GeneratedPackage, files: Mapping[str, bytes], problems: Problems
) -> None:
    """Report files that contain the value of a secret setting, from the environment or `.env`."""
    contract = package.contract
    names = {it["name"] for it in contract["environment"] if it.get("secret")}
    names |= {f"{contract['env_prefix']}{it.name}" for it in SERVER_SETTINGS if it.secret}
    values = {**_read_env_file(package.directory / ".env"), **os.environ}
    secrets = {name: values[name].encode() for name in sorted(names) if name in values}
    for path, content in files.items():
        for name, secret in secrets.items():
            if len(secret) >= _SHORTEST_SECRET and secret in content:
                problems.error(
                    "secret-in-bundle",
                    f"`{path}` contains the value of `{name}`",
                    at=Location(path),
                    why="everyone who gets the bundle could read it",
                    help="remove the value from the file; the server reads it from its environment",
                )


def _read_env_file(path: Path) -> dict[str, str]:
    text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
    pairs = (line.removeprefix("export ").partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip("'\"") for name, found, value in pairs if found}


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder and the links; without hidden and compiled ones."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        is_skipped = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if not is_skipped and path.suffix != ".pyc" and (path.is_symlink() or path.is_file()):
            yield path


def _read(root: Path, paths: Iterable[Path], problems: Problems) -> dict[str, bytes]:
    """Read files by their path below `root`, sorted."""
    files = {}
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in paths):
        if path.is_symlink():
            problems.error(
                "linked-file",
                f"`{name}` is a symbolic link",
                at=Location(name),
                why="what it leads to may not exist on another machine",
                help="put the file in its place",
            )
        else:
            files[name] = path.read_bytes()
    return files

"""Skills that the owner of a server wrote: each a folder in `skills/` with a `SKILL.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mcpgen.contract.skills import (
    MAX_BYTES,
    MAX_FILES,
    SKILL_FILE,
    describe_content,
    make_uri,
)
from mcpgen.runtime.process.log import log
from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.text.frontmatter import check_skill, read_frontmatter

MAX_SKILLS: Final = 1000


def load_own_skills(folder: str) -> list[JsonObject]:
    """Return the entries of the skills in a folder, by name; invalid skills are logged."""
    entries = []
    for directory in find_own_skills(Path(folder))[:MAX_SKILLS]:
        try:
            entries.append(describe_skill(directory))
        except (OSError, ValueError) as error:
            log("error", f"skills: skills/{directory.name} is not served: {error}")
    return entries


def find_own_skills(folder: Path) -> list[Path]:
    """Return the directories with a `SKILL.md`, sorted."""
    return sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.is_dir() and (path / SKILL_FILE).is_file()
    )


def describe_skill(directory: Path) -> JsonObject:
    """Return the entry of a skill: its front matter, and the digest and size of each file.

    Hidden files and symbolic links are not part of a skill.

    Raises:
        ValueError: its front matter is invalid, or it exceeds a limit.
        OSError: a file cannot be read.
    """
    text = (directory / SKILL_FILE).read_bytes().decode("utf-8", "strict")
    frontmatter = read_frontmatter(text)
    check_skill(frontmatter, directory.name)
    paths = list(_iterate_files(directory))
    if len(paths) > MAX_FILES:
        raise ValueError(f"it has {len(paths):,} files; at most {MAX_FILES} are allowed")
    if sum((directory / path).stat().st_size for path in paths) > MAX_BYTES:
        raise ValueError(f"its files are larger than {MAX_BYTES // 2**20} MiB together")
    name = directory.name
    files = [describe_content(f"{name}/{path}", (directory / path).read_bytes()) for path in paths]
    uri = make_uri(f"{name}/{SKILL_FILE}")
    return {"uri": uri, "frontmatter": frontmatter, "resources": files}


def _iterate_files(directory: Path) -> Iterator[str]:
    """Yield the paths of the files of a skill relative to its directory, `SKILL.md` first."""
    yield SKILL_FILE
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        parts = [
            directory.joinpath(*relative.parts[: end + 1]) for end in range(len(relative.parts))
        ]
        is_part = not any(part.name.startswith(".") or part.is_symlink() for part in parts)
        if is_part and path.is_file() and relative.as_posix() != SKILL_FILE:
            yield relative.as_posix()

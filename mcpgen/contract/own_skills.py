"""Skills that the owner of a server wrote: each a folder in `skills/` with a `SKILL.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcpgen.contract.frontmatter import check_skill, read_frontmatter
from mcpgen.contract.skills import (
    MAX_BYTES,
    MAX_FILES,
    SKILL_FILE,
    describe_content,
    make_uri,
)
from mcpgen.jsonschema.types import JsonObject


def find_own_skills(folder: Path) -> list[Path]:
    """Return the directories with a `SKILL.md`, sorted; hidden ones and links are none."""
    return sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if not path.name.startswith(".")
        and not path.is_symlink()
        and (path / SKILL_FILE).is_file()
        and not (path / SKILL_FILE).is_symlink()
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

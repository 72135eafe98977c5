"""The files of a server's skills: generated ones, and those that its owner wrote in `skills/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, to_builtins
from msgspec.json import decode

from mcpgen.contract.own_skills import describe_skill, find_own_skills
from mcpgen.contract.skills import make_digest, read_path
from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, JsonObject, encode_json

MAX_OWN_SKILLS: Final = 1000
GENERATED_INDEX: Final = "_generated/skills.json"
_GENERATED_FILES: Final = "_generated/skills/"
_OWN_FILES: Final = "skills/"
_MEDIA_TYPES: Final = {  # by suffix; those of the standard library differ from machine to machine
    "css": "text/css",
    "csv": "text/csv",
    "gif": "image/gif",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "png": "image/png",
    "py": "text/x-python",
    "sh": "application/x-sh",
    "svg": "image/svg+xml",
    "toml": "application/toml",
    "txt": "text/plain",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}


class _Resource(Struct, frozen=True):
    """A file in the entry of a skill."""

    uri: str
    digest: str
    size: int


class _Entry(Struct, frozen=True):
    """An entry of the index of generated skills."""

    uri: str
    frontmatter: dict[str, str]
    resources: list[_Resource]


class _File(Struct, frozen=True):
    """A file of a skill: its path in the package, and the entry of its skill that names it."""

    path: str
    digest: str
    size: int
    skill: JsonObject


class SkillFiles:
    """The skills of one package, loaded once."""

    def __init__(
        self, read: Callable[[str], bytes], *, has_generated: bool, own_folder: str = ""
    ) -> None:
        """Load the skills; `read` reads a file of the package, `own_folder` is its `skills/`.

        An invalid skill of the owner is logged and skipped. A skill of the owner replaces a
        generated one of the same name.

        Raises:
            ProtocolError: the index of the generated skills is missing or damaged.
        """
        self._read = read
        generated = self._read_index() if has_generated else []
        own = _load_own_skills(own_folder) if own_folder else []
        self._entries: dict[str, JsonObject] = {skill["uri"]: skill for skill in generated}
        self._entries |= {skill["uri"]: skill for skill in own}
        own_uris = {skill["uri"] for skill in own}
        self._files: dict[str, _File] = {
            file["uri"]: _File(
                (_OWN_FILES if uri in own_uris else _GENERATED_FILES) + read_path(file["uri"]),
                file["digest"],
                file["size"],
                skill,
            )
            for uri, skill in self._entries.items()
            for file in skill["resources"]
        }

    def list_entries(self) -> list[bytes]:
        """Return the entries for `skills/list`, as JSON: generated skills first."""
        return [encode_json(skill) for skill in self._entries.values()]

    def list_resources(self) -> list[bytes]:
        """Return the Resource objects of each `SKILL.md`, as JSON."""
        return [encode_json(self.describe(uri)) for uri in self._entries]

    def describe(self, uri: str) -> JsonObject:
        """Return the Resource object of a file."""
        file = self._files[uri]
        suffix = file.path.rpartition("/")[2].rpartition(".")[2].lower()
        media_type = _MEDIA_TYPES.get(suffix, "application/octet-stream")
        described = {"uri": uri, "name": uri.rpartition("/")[2]}
        if uri == file.skill["uri"]:
            frontmatter = file.skill["frontmatter"]
            described |= {key: frontmatter[key] for key in ("name", "description")}
        return {**described, "mimeType": media_type, "size": file.size}

    def read(self, uri: str) -> tuple[str, bytes] | None:
        """Return the media type and the content of a file; None if no skill has it.

        Raises:
            ProtocolError: the file is missing, or is not the one whose digest the entry of its
                skill has.
        """
        file = self._files.get(uri)
        if file is None:
            return None
        try:
            data = self._read(file.path)
        except ConfigurationError as error:
            raise _make_error(str(error)) from None
        if len(data) != file.size or make_digest(data) != file.digest:
            is_generated = file.path.startswith(_GENERATED_FILES)
            fix = "run `mcpgen generate`" if is_generated else "restart the server if you edited it"
            raise _make_error(
                f"`{file.path}` does not match the digest of its skill's entry; {fix}"
            )
        return self.describe(uri)["mimeType"], data

    def _read_index(self) -> list[JsonObject]:
        try:
            entries = decode(self._read(GENERATED_INDEX), type=list[_Entry])
        except ConfigurationError as error:
            raise _make_error(str(error)) from None
        except DecodeError as error:
            raise _make_error(f"`{GENERATED_INDEX}` is damaged: {error}") from None
        return [to_builtins(entry) for entry in entries]


def _load_own_skills(folder: str) -> list[JsonObject]:
    """Return the entries of the skills in a folder, by name; invalid skills are logged."""
    entries = []
    for directory in find_own_skills(Path(folder))[:MAX_OWN_SKILLS]:
        try:
            entries.append(describe_skill(directory))
        except (OSError, ValueError) as error:
            log("error", f"skills: skills/{directory.name} is not served: {error}")
    return entries


def _make_error(message: str) -> ProtocolError:
    log("error", f"skills: {message}")
    return ProtocolError(INTERNAL_ERROR, message)

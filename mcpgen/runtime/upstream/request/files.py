"""Reader of file arguments.

A file argument is base64, a `data:` URI, a `file:` URI below a configured folder, or the URI of
one of the server's own resources. Nothing is ever fetched from a network.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from msgspec import Struct

from mcpgen.runtime.upstream.request.parameters import UnsendableError

MAX_FILE_BYTES = 32 * 1024 * 1024
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SPACE = re.compile(r"\s+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)


class FileContent(Struct, frozen=True):
    """Content of a file, with its name and media type ("" if unknown)."""

    content: bytes
    name: str = ""
    media_type: str = ""

    def __repr__(self) -> str:
        return f"FileContent({self.name!r}, {self.media_type!r})"


class ResourceNeededError(Exception):
    """A file argument is the URI of a resource that has not been read."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"the resource {uri} has not been read")
        self.uri = uri


class FileReader(Struct, frozen=True):
    """Reader of file arguments. It reads only folders that the operator allows."""

    _roots: tuple[Path, ...] = ()
    _setting: str = ""
    _resources: Mapping[str, FileContent | None] = {}
    """The resources that were read for the call, by URI; None if unknown."""

    @classmethod
    def from_environment(cls, env_prefix: str, environ: Mapping[str, str]) -> FileReader:
        """Allow the folders in `<PREFIX>FILE_ROOTS`, separated as in `PATH`."""
        setting = f"{env_prefix}FILE_ROOTS"
        folders = filter(None, environ.get(setting, "").split(os.pathsep))
        return cls(tuple(Path(folder).resolve() for folder in folders), setting)

    def with_resource(self, uri: str, file: FileContent | None) -> FileReader:
        """Return a copy that also has the content of the resource at `uri`."""
        return FileReader(self._roots, self._setting, {**self._resources, uri: file})

    def read(self, value: object) -> FileContent:
        """Read the file that an argument denotes.

        Raises:
            UnsendableError: the argument has an invalid form, or the file may not be read.
            ResourceNeededError: it is a resource that this reader does not have.
        """
        if not isinstance(value, str):
            raise UnsendableError("must be a string: the content of a file, in base64")
        found = _SCHEME.match(value)
        if found is None:
            return FileContent(_from_base64(value))
        scheme = found[1].lower()
        if scheme == "data":
            return _from_data_uri(value)
        if scheme == "file":
            return self._from_file_uri(value)
        return self._from_resource(value)

    def _from_resource(self, uri: str) -> FileContent:
        if uri not in self._resources:
            raise ResourceNeededError(uri)
        file = self._resources[uri]
        if file is None:
            raise UnsendableError("is the URI of an unknown resource of this server")
        if len(file.content) > MAX_FILE_BYTES:
            raise UnsendableError(f"is a resource of more than {MAX_FILE_BYTES:,} bytes")
        return file

    def _from_file_uri(self, uri: str) -> FileContent:
        if not self._roots:
            raise UnsendableError(
                "must be base64 or a `data:` URI: this server may read no files"
                f" (the operator can allow a folder with {self._setting})"
            )
        parts = urlsplit(uri)
        path = Path(unquote(parts.path))
        if parts.netloc not in {"", "localhost"} or "\x00" in parts.path or not path.is_absolute():
            raise UnsendableError("must be a `file:` URI with an absolute path on this machine")
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(root) for root in self._roots):
            raise UnsendableError(f"must be a file below a folder of {self._setting}")
        try:
            with real.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except OSError:
            raise UnsendableError("is a missing or unreadable file") from None
        if len(content) > MAX_FILE_BYTES:
            raise UnsendableError(f"is a file of more than {MAX_FILE_BYTES:,} bytes")
        import mimetypes  # few tools take files

        # A fresh table, since the files of a machine may extend the global one.
        media_type, compression = mimetypes.MimeTypes().guess_type(path.name)
        return FileContent(content, path.name, "" if compression else media_type or "")


def _from_data_uri(uri: str) -> FileContent:
    """Read a `data:` URI (RFC 2397); its parameter `name` is the file's name."""
    head, comma, data = uri[5:].partition(",")
    if not comma:
        raise UnsendableError("must have a comma in its `data:` URI, before the data")
    media_type, *parameters = head.split(";")
    named = [unquote(item[5:]) for item in parameters if item.lower().startswith("name=")]
    if media_type.strip() and not _MEDIA_TYPE.fullmatch(media_type.strip()):
        raise UnsendableError("has an invalid media type in its `data:` URI")
    is_base64 = any(item.strip().lower() == "base64" for item in parameters)
    content = _from_base64(unquote(data)) if is_base64 else unquote_to_bytes(data)
    return FileContent(content, named[0] if named else "", media_type.strip().lower())


def _from_base64(text: str) -> bytes:
    compact = _SPACE.sub("", text)
    try:
        return b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except ValueError:  # also for text that is not ASCII
        raise UnsendableError("must be base64: it is the content of a file") from None

"""`mcpgen.lock`: what the last run read, wrote and called its tools.

JSON that is reviewed and merged as text: sorted, one entry a line, and nothing in it that two
machines would write differently.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.ir.file_set import Owner
from mcpgen.ir.json_types import JsonObject

LOCK_VERSION = 1
_INSPECTED_BYTES = 8000  # as many as git inspects
T = TypeVar("T")


class LockUnreadableError(Exception):
    """`mcpgen.lock` is not what mcpgen writes, but its lines may still tell something."""


class LockTooNewError(Exception):
    """A newer mcpgen wrote `mcpgen.lock`; says which."""


class LockedFile(Struct, frozen=True):
    """A file as a run left it."""

    owner: Owner
    sha256: str
    or_sha256: frozenset[str] = frozenset()  # read from the other side of a merge; never written

    def is_untouched(self, content: bytes) -> bool:
        """Whether `content` is what mcpgen wrote."""
        found = sha256(content)
        return found == self.sha256 or found in self.or_sha256


class LockedDocument(Struct, frozen=True):
    """The API description: where it came from, and what of it lies in the project.

    `etag` is what its server called the document that came last: the one of `fetched`, or of
    `sha256` where `fetched` is empty.
    """

    source: str  # the URL, or the file, from the folder that holds the project
    root: str  # the vendored root file's path
    sha256: Mapping[str, str]  # of each vendored file that the last `generate` read, by path
    etag: str = ""
    fetched: Mapping[str, str] = field(default_factory=dict)  # what `pull` wrote since, by path

    def generated_from(self, sha256: Mapping[str, str]) -> LockedDocument:
        """Give what to record once the project is generated from files with these hashes."""
        root = next(iter(sha256), "")
        etag = self.etag if sha256 == (self.fetched or self.sha256 or sha256) else ""
        return LockedDocument(self.source or root, root, sha256, etag)


class Lock(Struct, frozen=True):
    """The state of a generated project. Everything in it can be made anew."""

    mcpgen: str
    toolchain: Mapping[str, str]
    document: LockedDocument
    manifest: str  # SHA-256 of mcpgen.yaml
    answers: str  # SHA-256 of the resolved answers, as they are recorded
    files: Mapping[str, LockedFile] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)  # key -> tool name
    surface: str = ""  # SHA-256 of the tool surface; "" where an older mcpgen recorded none
    other_documents: tuple[LockedDocument, ...] = ()  # where there are several sources
    overlays: Mapping[str, str] = field(default_factory=dict)  # SHA-256, by path
    arazzo: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of workflows' documents

    @property
    def documents(self) -> tuple[LockedDocument, ...]:
        """What is recorded of every document."""
        return (self.document, *self.other_documents)

    @property
    def inputs(self) -> dict[str, str]:
        """The hashes of all documents, of APIs and of workflows, and of overlays, by path."""
        found = {path: digest for each in self.documents for path, digest in each.sha256.items()}
        return found | dict(self.overlays) | dict(self.arazzo)

    def document_at(self, root: str) -> LockedDocument:
        """What is recorded of the document with this root file."""
        known = {each.root: each for each in self.documents}
        if root in known:
            return known[root]
        # A document that moved within the project is the one that came from where it came from.
        return self.document if not self.other_documents else LockedDocument("", root, {})

    def with_document(self, root: str, changed: LockedDocument) -> Lock:
        """The lock with other records of the document with this root file."""
        is_other = any(each.root == root for each in self.other_documents)
        if not is_other:
            return replace(self, document=changed)
        others = tuple(changed if each.root == root else each for each in self.other_documents)
        return replace(self, other_documents=others)


class _Version(Struct, frozen=True):
    """What of a lock every mcpgen understands."""

    lock_version: int
    mcpgen: object = ""


class _FileEntry(Struct, frozen=True):
    owner: Owner = field(name="class")
    sha256: str

    def file(self) -> LockedFile:
        return LockedFile(self.owner, self.sha256)


class _ToolEntry(Struct, frozen=True):
    tool: str


class _SurfaceEntry(Struct, frozen=True):
    sha256: str = ""


class _Inputs(Struct, frozen=True):
    answers: str
    document: LockedDocument
    manifest: str
    other_documents: tuple[LockedDocument, ...] = ()
    overlays: Mapping[str, str] = field(default_factory=dict)
    arazzo: Mapping[str, str] = field(default_factory=dict)


class _Sections(Struct, frozen=True):
    """A lock as it is written."""

    mcpgen: str
    toolchain: Mapping[str, str]
    inputs: _Inputs
    files: Mapping[str, _FileEntry]
    operations: Mapping[str, _ToolEntry]
    surface: _SurfaceEntry = _SurfaceEntry()

    def lock(self) -> Lock:
        inputs = self.inputs
        return Lock(
            mcpgen=self.mcpgen,
            toolchain=self.toolchain,
            document=inputs.document,
            manifest=inputs.manifest,
            answers=inputs.answers,
            files={path: entry.file() for path, entry in self.files.items()},
            operations={key: entry.tool for key, entry in self.operations.items()},
            surface=self.surface.sha256,
            other_documents=inputs.other_documents,
            overlays=inputs.overlays,
            arazzo=inputs.arazzo,
        )


def sha256(content: bytes) -> str:
    """Hash a file's content as the lock records it: the line ends of a text do not count."""
    return hashlib.sha256(with_lf(content)).hexdigest()


def with_lf(content: bytes) -> bytes:
    """Return a text with the line ends that mcpgen writes; git may check it out with others.

    Binary content is returned as it is.
    """
    if b"\r" not in content or is_binary(content):
        return content
    return content.replace(b"\r\n", b"\n")


def is_binary(content: bytes) -> bool:
    """Whether git treats the content as binary: a null byte is near its start."""
    return b"\0" in content[:_INSPECTED_BYTES]


def dump_lock(lock: Lock) -> bytes:
    """Write a lock."""
    sections: JsonObject = {
        "lock_version": LOCK_VERSION,
        "mcpgen": lock.mcpgen,
        "toolchain": dict(lock.toolchain),
        "inputs": {
            "answers": lock.answers,
            "document": _document(lock.document),
            "manifest": lock.manifest,
            **(
                {"other_documents": list(map(_document, lock.other_documents))}
                if lock.other_documents
                else {}
            ),
            **({"overlays": dict(lock.overlays)} if lock.overlays else {}),
            **({"arazzo": dict(lock.arazzo)} if lock.arazzo else {}),
        },
        "files": {
            path: {"class": file.owner.value, "sha256": file.sha256}
            for path, file in lock.files.items()
        },
        "operations": {key: {"tool": tool} for key, tool in lock.operations.items()},
        "surface": {"sha256": lock.surface},
    }
    entries = (f"  {json.dumps(name)}: {_section(sections[name])}" for name in sorted(sections))
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _document(document: LockedDocument) -> JsonObject:
    return {
        "source": document.source,
        "root": document.root,
        "sha256": dict(document.sha256),
        **({"etag": document.etag} if document.etag else {}),
        **({"fetched": dict(document.fetched)} if document.fetched else {}),
    }


def _section(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    lines = (
        f"    {json.dumps(key)}: {json.dumps(value[key], sort_keys=True)}" for key in sorted(value)
    )
    return "{\n" + ",\n".join(lines) + "\n  }"


def parse_lock(content: bytes) -> Lock:
    """Read a lock.

    Raises:
        LockUnreadableError: it is no lock, or holds the conflicts of a merge; `recover_lock` reads
            what can be read.
        LockTooNewError: a newer mcpgen wrote it.
    """
    if b"<<<<<<< " in content or b">>>>>>> " in content:
        raise LockUnreadableError("mcpgen.lock has conflict markers of a merge in it")
    try:
        _refuse_newer(msgspec.json.decode(content, type=_Version))
        return msgspec.json.decode(content, type=_Sections).lock()
    except (msgspec.DecodeError, RecursionError):
        raise LockUnreadableError("mcpgen.lock is not what mcpgen writes") from None


def _refuse_newer(written: _Version) -> None:
    if written.lock_version > LOCK_VERSION:
        version = written.mcpgen or "(it does not say which)"
        raise LockTooNewError(f"mcpgen.lock was written by mcpgen {version}, which is newer")


def recover_lock(content: bytes | None, issued: Mapping[str, str] | None = None) -> Lock:
    """Read what is left of a lock that was lost, or whose lines a merge mixed up.

    Every line that still is an entry counts, of either side. What no line tells is empty, but for
    the names of the tools: those are `issued` then, by operation.

    Raises:
        LockTooNewError: a newer mcpgen wrote one of the sides.
    """
    found = _Entries((content or b"").decode("utf-8", "replace"))
    for version in found.of("lock_version", int):
        if version > LOCK_VERSION:
            raise LockTooNewError(
                "mcpgen.lock was written by a newer mcpgen, on one side of a merge"
            )
    document = next(found.of("document", LockedDocument), LockedDocument("", "", {}))
    others = next(found.of("other_documents", tuple[LockedDocument, ...]), ())
    return Lock(
        mcpgen="",
        toolchain={},
        document=LockedDocument(document.source, document.root, {}),
        manifest="",
        answers="",
        files=found.files(),
        operations=found.operations() or dict(issued or {}),
        other_documents=tuple(LockedDocument(each.source, each.root, {}) for each in others),
    )


class _Entries:
    """The lines of a lock that are whole entries, whatever stands between them."""

    def __init__(self, text: str) -> None:
        self._entries: list[tuple[str, object]] = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                self._entries += json.loads("{" + line.strip().removesuffix(",") + "}").items()

    def of(self, key: str, type_: type[T]) -> Iterator[T]:
        """Give the entries with this key, as far as they are of this type."""
        return (entry for name, entry in self._all(type_) if name == key)

    def files(self) -> dict[str, LockedFile]:
        files: dict[str, LockedFile] = {}
        for path, entry in self._all(_FileEntry):
            other = files.setdefault(path, entry.file())
            files[path] = replace(other, or_sha256=other.or_sha256 | {entry.sha256})
        return files

    def operations(self) -> dict[str, str]:
        """Give the names that tools were issued; where the sides differ, the first side's."""
        names: dict[str, str] = {}
        for key, entry in self._all(_ToolEntry):
            names.setdefault(key, entry.tool)
        return names

    def _all(self, type_: type[T]) -> Iterator[tuple[str, T]]:
        for key, entry in self._entries:
            with contextlib.suppress(msgspec.ValidationError):
                yield key, msgspec.convert(entry, type_)

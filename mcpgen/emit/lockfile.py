"""`mcpgen.lock` and `.mcpgen/overridden.json`: the records of the last run."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from mcpgen.ir.file_set import STATE_FOLDER, Owner, PlannedFile
from mcpgen.ir.hand_written import OverrideRecord
from mcpgen.ir.listing_form import OUTPUT_BUDGET, ListingForm
from mcpgen.jsonschema.types import JsonObject

LOCK_VERSION = 2  # 1 recorded one document apart from the others, and operations without it
_INSPECTED_BYTES = 8000  # as many as git inspects
T = TypeVar("T")


class LockUnreadableError(Exception):
    """`mcpgen.lock` is damaged; `recover_lock` reads its intact lines."""


class LockTooNewError(Exception):
    """A newer mcpgen wrote `mcpgen.lock`; the message states its version."""


class LockedFile(Struct, frozen=True):
    """The state of a file after a run."""

    owner: Owner = field(name="class")
    sha256: str
    or_sha256: frozenset[str] = frozenset()  # read from the other side of a merge; never written

    def is_untouched(self, content: bytes) -> bool:
        """Whether `content` is what mcpgen wrote."""
        found = sha256(content)
        return found == self.sha256 or found in self.or_sha256


class LockedDocument(Struct, frozen=True, omit_defaults=True):
    """An API description: its origin, its files in the project, and the names published for it.

    `etag` is the entity tag of the version that was fetched last: the one in `fetched`, or the one
    in `sha256` if `fetched` is empty.
    """

    source: str  # a URL, or a file relative to the project's parent folder; "": none is recorded
    sha256: Mapping[str, str]  # of each vendored file that the last `generate` read, by path
    root: str = ""  # the vendored root file's path; the lock has it as the key of the entry
    etag: str = ""
    fetched: Mapping[str, str] = field(default_factory=dict)  # written by `pull` since, by path
    name: str | UnsetType = UNSET  # begins its operation keys, "" for none; UNSET: not recorded
    settings: str | UnsetType = UNSET  # follows the server's prefix in its settings
    credentials: Mapping[str, str] = field(default_factory=dict)  # security scheme -> setting

    def record_hashes(self, sha256: Mapping[str, str]) -> LockedDocument:
        """Return the record for a project that is generated from files with these hashes."""
        root = next(iter(sha256), "")
        etag = self.etag if sha256 == (self.fetched or self.sha256 or sha256) else ""
        return replace(self, root=root, sha256=sha256, etag=etag, fetched={})


class LeftOut(Struct, frozen=True):
    """Reason why an operation has no tool; for reports only."""

    code: str  # "not-selected", "off", or the code of the diagnostic that reported it
    reason: str


class Lock(Struct, frozen=True):
    """The state of a generated project. All of it can be created again."""

    mcpgen: str = ""
    toolchain: Mapping[str, str] = field(default_factory=dict)
    documents: tuple[LockedDocument, ...] = ()  # by root
    manifest: str = ""  # SHA-256 of mcpgen.yaml
    answers: str = ""  # SHA-256 of the resolved answers, as they are recorded
    files: Mapping[str, LockedFile] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)  # `parse_locked_key` -> tool name
    calls: Mapping[str, str] = field(default_factory=dict)  # call types that two operations claimed
    overlays: Mapping[str, str] = field(default_factory=dict)  # SHA-256, by path
    arazzo: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of workflows' documents
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)  # by operation key
    listing: ListingForm | None = None  # None if none is recorded

    @property
    def inputs(self) -> dict[str, str]:
        """Hashes of the documents of APIs and workflows and of the overlays, by path."""
        found = {path: digest for each in self.documents for path, digest in each.sha256.items()}
        return found | dict(self.overlays) | dict(self.arazzo)

    @property
    def origins(self) -> str:
        """Sources of the documents, as text: "shop.yaml, https://pay.example/api.json"."""
        return ", ".join(each.source for each in self.documents if each.source)

    def find_new(self, files: Iterable[PlannedFile]) -> Iterator[PlannedFile]:
        """Yield the files of a run that no earlier run has made with the same content."""
        for file in files:
            locked = self.files.get(file.path)
            if locked is None or not locked.is_untouched(file.content):
                yield file

    def with_document(self, root: str, changed: LockedDocument) -> Lock:
        """Return the lock with `changed` as the document with this root file, replaced or added."""
        others = [each for each in self.documents if each.root != root]
        return replace(self, documents=_sort_by_root([*others, changed]))


def parse_locked_key(root: str, request: str) -> str:
    """Return the name of an operation in the lock: "openapi.yaml GET /pets".

    A tool without a document has no `root`: "tool:find_book". A lock of version 1 has operation
    keys of that version: "GET /pets", "shop:GET /pets".
    """
    return f"{root} {request}" if root else request


def by_operation_key(published: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Convert the keys of a record from those of `parse_locked_key` to operation keys.

    `names` has the name in the current operation keys of each document, by the root file in the
    lock.
    """
    found: dict[str, str] = {}
    for key, value in published.items():
        root = next((root for root in names if key.startswith(f"{root} ")), None)
        request = key if root is None else key.removeprefix(f"{root} ")
        name = names.get(root or "", "")
        found.setdefault(f"{name}:{request}" if name else request, value)
    return found


def _sort_by_root(documents: Iterable[LockedDocument]) -> tuple[LockedDocument, ...]:
    return tuple(sorted(documents, key=lambda document: document.root))


class _Version(Struct, frozen=True):
    """The part of a lock that every version of mcpgen can read."""

    lock_version: int
    mcpgen: object = ""


class _ToolEntry(Struct, frozen=True):
    tool: str
    call: str = ""


class _Inputs(Struct, frozen=True):
    answers: str
    manifest: str
    document: LockedDocument | None = None  # of version 1
    other_documents: tuple[LockedDocument, ...] = ()  # of version 1
    overlays: Mapping[str, str] = field(default_factory=dict)
    arazzo: Mapping[str, str] = field(default_factory=dict)


class _Sections(Struct, frozen=True):
    """The lock in the form of the file."""

    mcpgen: str
    toolchain: Mapping[str, str]
    inputs: _Inputs
    files: Mapping[str, LockedFile]
    operations: Mapping[str, _ToolEntry]
    documents: Mapping[str, LockedDocument] = field(default_factory=dict)
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    listing: ListingForm | None = None

    def lock(self) -> Lock:
        inputs = self.inputs
        documents = [replace(entry, root=root) for root, entry in self.documents.items()]
        if not documents and inputs.document is not None:
            documents = _convert_version_1(inputs.document, inputs.other_documents)
        return Lock(
            mcpgen=self.mcpgen,
            toolchain=self.toolchain,
            documents=_sort_by_root(documents),
            manifest=inputs.manifest,
            answers=inputs.answers,
            files=self.files,
            operations={key: entry.tool for key, entry in self.operations.items()},
            calls={key: entry.call for key, entry in self.operations.items() if entry.call},
            overlays=inputs.overlays,
            arazzo=inputs.arazzo,
            left_out=self.left_out,
            listing=self.listing,
        )


def _convert_version_1(
    first: LockedDocument, others: Iterable[LockedDocument]
) -> list[LockedDocument]:
    """Return the documents of a lock of version 1.

    A single document had operation keys without a name. A document that the user had added by hand
    was recorded with the origin of the first one, which is not its own.
    """
    documents = [entry for entry in (first, *others) if entry.root]
    if len(documents) == 1:
        return [replace(documents[0], name="", settings="")]
    origins: set[str] = set()
    found: list[LockedDocument] = []
    for document in documents:
        is_own = document.source not in origins
        found.append(document if is_own else replace(document, source="", etag=""))
        origins.add(document.source)
    return found


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
    """Return the content of `mcpgen.lock`."""
    sections: JsonObject = {
        "lock_version": LOCK_VERSION,
        "mcpgen": lock.mcpgen,
        "toolchain": dict(lock.toolchain),
        "documents": {
            each.root: msgspec.to_builtins(replace(each, root="")) for each in lock.documents
        },
        "inputs": {
            "answers": lock.answers,
            "manifest": lock.manifest,
            **({"overlays": dict(lock.overlays)} if lock.overlays else {}),
            **({"arazzo": dict(lock.arazzo)} if lock.arazzo else {}),
        },
        "files": {
            path: {"class": file.owner.value, "sha256": file.sha256}
            for path, file in lock.files.items()
        },
        "operations": {
            key: {"tool": tool} | ({"call": lock.calls[key]} if key in lock.calls else {})
            for key, tool in lock.operations.items()
        },
    }
    if lock.left_out:
        sections["left_out"] = {
            key: msgspec.to_builtins(entry) for key, entry in lock.left_out.items()
        }
    if lock.listing is not None:
        sections["listing"] = msgspec.to_builtins(lock.listing)
    entries = (f"  {json.dumps(name)}: {_section(sections[name])}" for name in sorted(sections))
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _section(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    lines = (
        f"    {json.dumps(key)}: {json.dumps(value[key], sort_keys=True)}" for key in sorted(value)
    )
    return "{\n" + ",\n".join(lines) + "\n  }"


def parse_lock(content: bytes) -> Lock:
    """Parse a lock.

    Raises:
        LockUnreadableError: it is not a lock, or contains conflict markers of a merge; its intact
            lines are read by `recover_lock`.
        LockTooNewError: a newer mcpgen wrote it.
    """
    if b"<<<<<<< " in content or b">>>>>>> " in content:
        raise LockUnreadableError("mcpgen.lock has conflict markers of a merge in it")
    try:
        written = msgspec.json.decode(content, type=_Version)
        if written.lock_version > LOCK_VERSION:
            version = written.mcpgen or "(it does not say which)"
            raise LockTooNewError(f"mcpgen.lock was written by mcpgen {version}, which is newer")
        return msgspec.json.decode(content, type=_Sections).lock()
    except (msgspec.DecodeError, RecursionError):
        raise LockUnreadableError("mcpgen.lock is not what mcpgen writes") from None


def recover_lock(
    content: bytes | None, issued: Mapping[str, str] | None = None, arguments: str = ""
) -> Lock:
    """Read the intact lines of a lock that was lost, or that a merge damaged.

    All lines that are valid entries count, of both sides. Fields without such lines are empty,
    except the tool names, which are then `issued`, by operation. `arguments` is the form of the
    listing that the package shows, which replaces the recorded one; "" if it shows none.

    Raises:
        LockTooNewError: a newer mcpgen wrote one of the sides.
    """
    found = _Entries((content or b"").decode("utf-8", "replace"))
    for version in found.of("lock_version", int):
        if version > LOCK_VERSION:
            raise LockTooNewError(
                "mcpgen.lock was written by a newer mcpgen, on one side of a merge"
            )
    tools = found.tools()
    return Lock(
        documents=found.documents(),
        files=found.files(),
        operations={key: entry.tool for key, entry in tools} or dict(issued or {}),
        calls={key: entry.call for key, entry in tools if entry.call},
        listing=found.form(arguments),
    )


class _Entries:
    """The lines of a lock that are complete entries; all other lines are ignored."""

    def __init__(self, text: str) -> None:
        self._entries: list[tuple[str, object]] = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                self._entries += json.loads("{" + line.strip().removesuffix(",") + "}").items()

    def of(self, key: str, type_: type[T]) -> Iterator[T]:
        """Return the entries with this key and of this type."""
        return (entry for name, entry in self._iterate_entries(type_) if name == key)

    def documents(self) -> tuple[LockedDocument, ...]:
        """Return the documents without their contents; the first side of a merge has precedence."""
        found: dict[str, LockedDocument] = {}
        for root, entry in self._iterate_entries(LockedDocument):
            if root != "document":  # of version 1, whose key is no path
                found.setdefault(root, replace(entry, root=root))
        if not found:
            first = next(self.of("document", LockedDocument), None)
            others = next(self.of("other_documents", tuple[LockedDocument, ...]), ())
            if first is not None:
                found = {each.root: each for each in _convert_version_1(first, others)}
        return _sort_by_root(
            replace(each, sha256={}, etag="", fetched={}) for each in found.values()
        )

    def form(self, arguments: str) -> ListingForm | None:
        """Return the form of the listing; None if neither the package nor the lock shows one."""
        arguments = arguments or next(self.of("arguments", str), "")
        budget = next(self.of("output_budget", int), OUTPUT_BUDGET)
        shares = next(self.of("shares_shapes", bool), False)
        return ListingForm(arguments, budget, shares) if arguments else None

    def files(self) -> dict[str, LockedFile]:
        files: dict[str, LockedFile] = {}
        for path, entry in self._iterate_entries(LockedFile):
            other = files.setdefault(path, entry)
            files[path] = replace(other, or_sha256=other.or_sha256 | {entry.sha256})
        return files

    def tools(self) -> list[tuple[str, _ToolEntry]]:
        """Return the tools in reverse order, so that the values of the first side win in a dict."""
        return [*self._iterate_entries(_ToolEntry)][::-1]

    def _iterate_entries(self, type_: type[T]) -> Iterator[tuple[str, T]]:
        for key, entry in self._entries:
            with contextlib.suppress(msgspec.ValidationError):
                yield key, msgspec.convert(entry, type_)


OVERRIDDEN_FILE = f"{STATE_FOLDER}/overridden.json"


def dump_overridden(overridden: Mapping[str, OverrideRecord]) -> PlannedFile:
    """Return the file with the records of the operations, by key."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(msgspec.to_builtins(entry), sort_keys=True)}"
        for key, entry in sorted(overridden.items())
    )
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    return PlannedFile(OVERRIDDEN_FILE, text.encode(), Owner.GENERATED)


def parse_overridden(content: bytes | None) -> dict[str, OverrideRecord]:
    """Parse the file; {} if it is missing.

    From a file that a merge damaged, return its valid lines, the first one of each operation.
    """
    try:
        return msgspec.json.decode(content or b"{}", type=dict[str, OverrideRecord])
    except (msgspec.DecodeError, RecursionError):
        found: dict[str, OverrideRecord] = {}
        for line in (content or b"").splitlines():
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                entry = b"{" + line.strip().removesuffix(b",") + b"}"
                found = msgspec.json.decode(entry, type=dict[str, OverrideRecord]) | found
        return found

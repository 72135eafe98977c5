"""Reading of the files of a document, all from its folder, with the position of each value."""

from __future__ import annotations

import contextlib
import posixpath
import re
import stat
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document, Secret, SourceFile
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.json_reader import JsonPositions, read_json
from mcpgen.openapi.source.secrets import find_secrets
from mcpgen.openapi.source.source_text import Limits, SourceText, decode
from mcpgen.openapi.source.yaml_composer import HAS_C_PARSER, YamlPositions, compose_yaml
from mcpgen.text.counts import format_count
from mcpgen.text.json_pointer import json_pointer

_C1_CONTROL = re.compile("[\x80-\x84\x86-\x9f]")
_FORMER_BREAK = re.compile("[\x85\u2028\u2029]")
_TABS_IN_BLANK_LINE = re.compile(r"^[ ]*\t[ \t]*$", re.MULTILINE)
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{"\]])')


class ReadFile(Struct):
    """A decoded file with its text and the positions of its values."""

    value: JsonValue
    source: SourceText
    positions: JsonPositions | YamlPositions
    _secrets: tuple[Secret, ...] | None = None

    def mask(self) -> tuple[Secret, ...]:
        """Mask the credentials of the file in excerpts; return them."""
        if self._secrets is None:
            self._secrets = find_secrets(self.value)
            self.source.secrets = tuple(secret.text for secret in self._secrets)
        return self._secrets

    def location(self, tokens: tuple[str, ...]) -> Location:
        """Return the location of the value at `tokens`, or of its nearest existing parent."""
        self.mask()  # deferred: a file without problems needs no excerpt
        offset, width = self.positions.offset(tokens)
        return self.source.location(offset, json_pointer(tokens), width)


def read_source_file(content: bytes, shown_as: str, problems: Problems, limits: Limits) -> ReadFile:
    """Decode JSON or YAML 1.2; the content determines the format, not the file name.

    Only a file that looks like JSON and is invalid JSON (trailing commas, comments) is read as YAML
    if its name ends in .yaml or .yml.

    Raises:
        RejectedError: it is invalid, or exceeds a limit.
    """
    source = decode(content, shown_as, problems)
    if not _JSON_START.match(source.text):
        return _read_yaml(source, problems, limits)
    attempt = Problems()
    try:
        value = read_json(source, attempt, limits)
    except RejectedError:
        is_only_syntax = {problem.code for problem in attempt} == {"json-syntax"}
        if is_only_syntax and PurePosixPath(shown_as).suffix.lower() in {".yaml", ".yml"}:
            with contextlib.suppress(RejectedError):
                return _read_yaml(source, Problems(), limits)
        problems.extend(attempt)
        raise
    problems.extend(attempt)
    return ReadFile(value, source, JsonPositions(source.text))


def _read_yaml(source: SourceText, problems: Problems, limits: Limits) -> ReadFile:
    if not HAS_C_PARSER and len(source.text) > 1_000_000:
        problems.note(
            "yaml-slow",
            "PyYAML has no libyaml: reading this document takes ten times as long",
            at=Location(source.shown_as),
            help="install PyYAML from a wheel, which includes libyaml",
        )
    readable = _replace_controls(source, problems)
    attempt = Problems()
    try:
        value, positions = compose_yaml(readable, attempt, limits)
    except RejectedError:
        cleared = SourceText(source.shown_as, _remove_trouble(readable.text))
        if cleared.text != readable.text:
            with contextlib.suppress(RejectedError):
                return _read_again(cleared, problems, limits)
        problems.extend(attempt)
        raise
    problems.extend(attempt)
    return ReadFile(value, source, positions)


def _remove_trouble(text: str) -> str:
    """Return a text of YAML 1.2 without what libyaml, which reads YAML 1.1, does not accept.

    A block scalar may begin with a line that has a tab (section 8.1.1.1), and three characters no
    longer break lines (section 5.4).
    """
    return _FORMER_BREAK.sub(" ", _TABS_IN_BLANK_LINE.sub("", text))


def _read_again(source: SourceText, problems: Problems, limits: Limits) -> ReadFile:
    """Read a document once more; report its problems only if it can be read."""
    attempt = Problems()
    value, positions = compose_yaml(source, attempt, limits)
    problems.extend(attempt)
    return ReadFile(value, source, positions)


def _replace_controls(source: SourceText, problems: Problems) -> SourceText:
    """Return the text with the characters that Windows-1252 has in place of C1 controls.

    They come from a text in Windows-1252 that was decoded as Latin-1. YAML 1.2 (section 5.1) allows
    none of them but U+0085, and its parsers read no further.
    """
    found = _C1_CONTROL.search(source.text)
    if found is None:
        return source
    text, count = _C1_CONTROL.subn(
        lambda control: control[0].encode("latin-1").decode("cp1252", "replace"), source.text
    )
    problems.warning(
        "yaml-control",
        f"{format_count(count, 'control character')} replaced",
        at=source.location(found.start()),
        why="YAML does not allow them; they are read as characters of Windows-1252, from which they"
        " were probably converted wrongly",
        help="write the characters that are meant, or escape them in double quotes",
    )
    return SourceText(source.shown_as, text)


def read_bytes(path: Path, shown_as: str, max_bytes: int, problems: Problems) -> bytes:
    """Read a file of at most `max_bytes` bytes.

    Raises:
        RejectedError: it is larger, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problems.error(
            "unreadable",
            f"cannot read {shown_as}: {reason}",
            at=Location(shown_as),
            why="there is no document to generate from",
            help="pass the path or the http(s) URL of an OpenAPI document",
        )
        raise RejectedError from None
    if len(content) > max_bytes:
        problems.error(
            "too-large",
            f"{shown_as} is larger than {max_bytes:,} bytes",
            at=Location(shown_as),
            why="the whole document is read into memory",
            help="split the API into several documents",
        )
        raise RejectedError
    return content


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OUTSIDE = (
    "an untrusted document must not make mcpgen read files of this machine or send requests into "
    "its network"
)


class BrokenReferenceError(Exception):
    """An unresolvable `$ref`, with the parts of a diagnostic; `is_unsafe` makes it an error."""

    def __init__(
        self, code: str, message: str, *, why: str = "", help: str = "", is_unsafe: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.why = why
        self.help = help
        self.is_unsafe = is_unsafe


class OpenFile(Struct, frozen=True, eq=False):
    """A decoded file of the document; `name` is relative to the root file's folder."""

    name: str
    value: JsonValue
    locate: Callable[[tuple[str, ...]], Location]
    is_root: bool = False


class DocumentFiles:
    """Opens the files of relative references, each once, within the limits of the document."""

    def __init__(self, document: Document, problems: Problems, limits: Limits) -> None:
        self._document = document
        self._problems = problems
        self._limits = limits
        self._folder = document.path.parent if document.path else None
        self._bytes_left = limits.max_document_bytes - sum(
            len(file.content) for file in document.files
        )
        self.root = OpenFile(
            document.files[0].name,
            document.root,
            lambda tokens: document.locate(json_pointer(tokens)),
            is_root=True,
        )
        self._open: dict[str, OpenFile | BrokenReferenceError] = {self.root.name: self.root}
        self._contents: dict[str, bytes] = {}

    @property
    def others(self) -> list[OpenFile]:
        """The open files except the root, by name."""
        opened = [file for file in self._open.values() if isinstance(file, OpenFile)]
        return sorted((file for file in opened if not file.is_root), key=lambda file: file.name)

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The contents of all files, the root first, then by name."""
        others = tuple(SourceFile(file.name, self._contents[file.name]) for file in self.others)
        return self._document.files[:1] + others

    def open(self, reference: str, base: OpenFile) -> OpenFile:
        """Open the file that a reference in `base` names; `reference` has no fragment.

        Raises:
            BrokenReferenceError: the file is outside the folder, or cannot be read.
        """
        if not reference:
            return base
        name = self._resolve_name(reference, base)
        if name not in self._open:
            try:
                self._open[name] = self._read(name)
            except BrokenReferenceError as error:
                self._open[name] = error
        found = self._open[name]
        if isinstance(found, BrokenReferenceError):
            raise found
        return found

    def _resolve_name(self, reference: str, base: OpenFile) -> str:
        if reference == self._document.root.get("$self"):
            return self.root.name
        path = unquote(reference.partition("?")[0])
        if _SCHEME.match(reference) or path.startswith(("/", "\\")) or "\\" in path:
            raise self._outside_error(reference)
        name = posixpath.normpath(posixpath.join(posixpath.dirname(base.name), path))
        if name.startswith("../") or name == "..":
            raise self._outside_error(reference)
        return name

    def _outside_error(self, reference: str) -> BrokenReferenceError:
        is_network = reference.lower().startswith(("http:", "https:", "//"))
        return BrokenReferenceError(
            "remote-ref" if is_network else "outside-ref",
            f"reference to a network address: `{reference[:200]}`"
            if is_network
            else f"reference outside the document's folder: `{reference[:200]}`",
            why=_OUTSIDE,
            help="copy its target into the document, or into a file beside the document",
            is_unsafe=True,
        )

    def _read(self, name: str) -> OpenFile:
        if self._folder is None:
            raise BrokenReferenceError(
                "remote-ref",
                f"cannot fetch `{name}`: a document from a URL must be a single file",
                why=_OUTSIDE,
                help="download the whole folder, and pass the path of its root file",
                is_unsafe=True,
            )
        if len(self._open) >= self._limits.max_files:
            raise BrokenReferenceError(
                "too-many-files", f"the document has more than {self._limits.max_files:,} files"
            )
        path = self._find_file(name, self._folder)
        shown = f"{self._document.shown_as.removesuffix(self.root.name)}{name}"
        try:
            content = read_bytes(path, shown, max(0, self._bytes_left), self._problems)
            read = read_source_file(content, shown, self._problems, self._limits)
        except RejectedError:
            raise BrokenReferenceError(
                "unresolved-ref",
                f"cannot read the file `{name}`",
                help="fix the problem that is reported for this file",
            ) from None
        self._bytes_left -= len(content)
        self._contents[name] = content
        return OpenFile(name, read.value, read.location)

    def _find_file(self, name: str, folder: Path) -> Path:
        """Return the path of a regular file inside the folder, after following symbolic links."""
        path = folder / name
        try:
            if not path.resolve().is_relative_to(folder.resolve()):
                raise self._outside_error(name)
            if stat.S_ISREG(path.stat().st_mode):
                return path
        except (OSError, ValueError):
            pass
        raise BrokenReferenceError(
            "unresolved-ref",
            f"missing file `{name[:200]}` in the document's folder",
            help="add the file, or correct the reference",
        )

"""`mcpgen.yaml`, the user's own statement of what a server exposes, read and checked.

This is its first form: the server's name, the document, which operations are served, and whether
models are made. Unknown keys are errors, so that a slip of the pen never changes nothing.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.spec.limits import DEFAULT_LIMITS
from mcpgen.spec.source_file import ReadFile, read_source_file

MANIFEST_FILE = "mcpgen.yaml"
SERVER_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the user decided about a server."""

    name: str
    document: str  # the API description's path in the project; "" for none
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: bool = True


def read_manifest(content: bytes, problems: Problems) -> Manifest:
    """Read the manifest.

    Raises:
        RejectedError: it is no YAML, or says what cannot be followed.
    """
    file = read_source_file(content, MANIFEST_FILE, problems, DEFAULT_LIMITS)
    before = len(problems)
    manifest = _Reader(file, problems).manifest()
    if len(problems) > before:
        raise RejectedError
    return manifest


class _Reader:
    def __init__(self, file: ReadFile, problems: Problems) -> None:
        self._file = file
        self._problems = problems

    def manifest(self) -> Manifest:
        root = self._object(self._file.value, (), {"server", "sources", "select", "models"})
        server = self._object(root.get("server", {}), ("server",), {"name"})
        name = self._text(server.get("name"), ("server", "name"))
        if name and not is_server_name(name):
            self._refuse(("server", "name"), f"`{name}` cannot be a server's name", NAME_RULE)
        include, exclude = self._selection(root.get("select", []))
        models = root.get("models", True)
        if not isinstance(models, bool):
            self._refuse(("models",), "`models` is true or false", "write `models: false`")
        return Manifest(name, self._document(root), include, exclude, models is not False)

    def _document(self, root: dict[str, Any]) -> str:
        sources = root.get("sources")
        if sources == []:
            if "select" in root:
                self._refuse(
                    ("select",),
                    "`select` chooses operations of a document, and `sources` names none",
                    "leave `select` out",
                )
            return ""
        if not isinstance(sources, list) or len(sources) != 1:
            self._refuse(
                ("sources",),
                "`sources` names one document",
                "write `sources:` with one entry, `- document: openapi.yaml`, or `sources: []`",
            )
            return ""
        source = self._object(sources[0], ("sources", "0"), {"document"})
        return self._text(source.get("document"), ("sources", "0", "document"))

    def _selection(self, rules: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not isinstance(rules, list):
            self._refuse(
                ("select",), "`select` is a list", 'write `select:`, then `- exclude: "*"`'
            )
            return (), ()
        chosen: dict[str, list[str]] = {"include": [], "exclude": []}
        for number, rule in enumerate(rules):
            at = ("select", str(number))
            entry = self._object(rule, at, set(chosen))
            if len(entry) != 1:
                self._refuse(at, "a rule is one `include` or one `exclude`", "split it in two")
            for kind, glob in entry.items():
                if kind in chosen:
                    chosen[kind].append(self._text(glob, (*at, kind)))
        return tuple(chosen["include"]), tuple(chosen["exclude"])

    def _object(self, value: Any, at: tuple[str, ...], known: set[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            where = f"`{at[-1]}`" if at else MANIFEST_FILE
            keys = ", ".join(f"`{key}`" for key in sorted(known))
            self._refuse(at, f"{where} is a mapping", f"its keys are {keys}")
            return {}
        for key in value:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, n=1)
                self._refuse(
                    (*at, key),
                    f"`{key}` is no key of the manifest here",
                    f"did you mean `{close[0]}`?"
                    if close
                    else f"keys are {', '.join(sorted(known))}",
                )
        return value

    def _text(self, value: Any, at: tuple[str, ...]) -> str:
        if isinstance(value, str) and value:
            return value
        self._refuse(at, f"`{at[-1]}` is a text", "put it in quotes if YAML reads it otherwise")
        return ""

    def _refuse(self, at: tuple[str, ...], message: str, help: str) -> None:
        self._problems.error(
            "manifest",
            message,
            at=self._file.location(at),
            why="mcpgen follows the manifest to the letter, or not at all",
            help=help,
        )


NAME_RULE = (
    "use lower-case words of letters and digits, joined by `-`, beginning with a letter, "
    f"{_MAX_NAME} characters at most"
)


def is_server_name(text: str) -> bool:
    """Whether a server can be called `text`."""
    return bool(SERVER_NAME.match(text)) and len(text) <= _MAX_NAME

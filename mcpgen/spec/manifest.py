"""`mcpgen.yaml`, the user's own statement of what a server exposes, read and checked.

This is its first form: the server's name, the document, which operations are served, whether
models are made, and whether the server belongs to the workspace around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.spec.settings_file import Kind, SettingsFile

MANIFEST_FILE = "mcpgen.yaml"
SERVER_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_MAX_NAME = 60
_KIND = Kind("manifest", MANIFEST_FILE, "the manifest")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the user decided about a server."""

    name: str
    document: str  # the API description's path in the project; "" for none
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: bool = True
    apart_because: str | None = None  # why the server is no member of the workspace around it


def read_manifest(content: bytes, problems: Problems) -> Manifest:
    """Read the manifest.

    Raises:
        RejectedError: it is no YAML, or says what cannot be followed.
    """
    file = SettingsFile.read(content, MANIFEST_FILE, _KIND, problems)
    manifest = _Reader(file).manifest()
    if file.is_refused:
        raise RejectedError
    return manifest


class _Reader:
    def __init__(self, file: SettingsFile) -> None:
        self._file = file

    def manifest(self) -> Manifest:
        file = self._file
        root = file.root({"server", "sources", "select", "models", "workspace"})
        server = file.mapping(root.get("server", {}), ("server",), {"name"})
        name = file.text(server.get("name"), ("server", "name"))
        if name and not is_server_name(name):
            file.refuse(("server", "name"), f"`{name}` cannot be a server's name", NAME_RULE)
        include, exclude = self._selection(root.get("select", []))
        models = root.get("models", True)
        if not isinstance(models, bool):
            file.refuse(("models",), "`models` is true or false", "write `models: false`")
        return Manifest(
            name,
            self._document(root),
            include,
            exclude,
            models is not False,
            self._apart_because(root.get("workspace", True)),
        )

    def _document(self, root: dict[str, Any]) -> str:
        file = self._file
        sources = root.get("sources")
        if sources == []:
            if "select" in root:
                file.refuse(
                    ("select",),
                    "`select` chooses operations of a document, and `sources` names none",
                    "leave `select` out",
                )
            return ""
        if not isinstance(sources, list) or len(sources) != 1:
            file.refuse(
                ("sources",),
                "`sources` names one document",
                "write `sources:` with one entry, `- document: openapi.yaml`, or `sources: []`",
            )
            return ""
        source = file.mapping(sources[0], ("sources", "0"), {"document"})
        return file.text(source.get("document"), ("sources", "0", "document"))

    def _selection(self, rules: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        file = self._file
        if not isinstance(rules, list):
            file.refuse(("select",), "`select` is a list", 'write `select:`, then `- exclude: "*"`')
            return (), ()
        chosen: dict[str, list[str]] = {"include": [], "exclude": []}
        for number, rule in enumerate(rules):
            at = ("select", str(number))
            entry = file.mapping(rule, at, set(chosen))
            if len(entry) != 1:
                file.refuse(at, "a rule is one `include` or one `exclude`", "split it in two")
            for kind, glob in entry.items():
                if kind in chosen:
                    chosen[kind].append(file.text(glob, (*at, kind)))
        return tuple(chosen["include"]), tuple(chosen["exclude"])

    def _apart_because(self, workspace: Any) -> str | None:
        """Read `workspace`: true, false, or false with a reason."""
        if isinstance(workspace, bool):
            return None if workspace else "it says `workspace: false`"
        at = ("workspace",)
        entry = self._file.mapping(workspace, at, {"member", "reason"})
        if entry.get("member") is not False:
            self._file.refuse(
                at, "`workspace` is true, or false", "write `workspace: {member: false, reason: …}`"
            )
        return self._file.text(entry.get("reason"), (*at, "reason"))


NAME_RULE = (
    "use lower-case words of letters and digits, joined by `-`, beginning with a letter, "
    f"{_MAX_NAME} characters at most"
)


def is_server_name(text: str) -> bool:
    """Whether a server can be called `text`."""
    return bool(SERVER_NAME.match(text)) and len(text) <= _MAX_NAME

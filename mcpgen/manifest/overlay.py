"""Application of OpenAPI Overlays 1.0 and 1.1 to a document in memory.

The document's files do not change. Values from an overlay have the overlay's location.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import jsonpath
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonValue
from mcpgen.manifest.typed_file import TypedFile, read_typed
from mcpgen.openapi.source.secrets import find_secrets
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

_PATHS = jsonpath.JSONPathEnvironment(strict=True)  # RFC 9535 to the letter

Parts: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class Action(Struct, frozen=True):
    """One change of an overlay (Action Object). With `remove`, `update` and `copy` are ignored."""

    target: Annotated[str, Meta(min_length=1)]
    description: str = ""
    update: Any = UNSET
    remove: bool = False
    copy: str = ""


class Info(Struct, frozen=True):
    """An Info Object."""

    title: str
    version: str
    description: str = ""


class OverlayFile(Struct, frozen=True):
    """An Overlay Object."""

    overlay: Annotated[str, Meta(pattern=r"^1\.[01]\.[0-9]+$")]
    info: Info
    actions: Annotated[tuple[Action, ...], Meta(min_length=1)]
    extends: str = ""  # the manifest states which document it extends


def read_overlay(content: bytes, shown_as: str, problems: Problems) -> TypedFile[OverlayFile]:
    """Read an overlay.

    Raises:
        RejectedError: it is invalid, or one of its actions is unsupported.
    """
    file = read_typed(content, shown_as, OverlayFile, "overlay", problems)
    before = len(problems)
    for number, action in enumerate(file.value.actions):
        place = ("actions", str(number))
        for key, path in (("target", action.target), ("copy", action.copy)):
            if path:
                _check_path(file, (*place, key), path)
        if action.copy and file.value.overlay.startswith("1.0."):
            file.refuse(
                (*place, "copy"),
                f"Overlay {file.value.overlay} has no `copy`",
                "write `overlay: 1.1.0`",
            )
        if action.update is UNSET and not action.copy and not action.remove:
            file.refuse(place, "action without effect", "add `update`, `remove` or `copy`")
    if len(problems) > before:
        raise RejectedError
    return file


def _check_path(file: TypedFile[OverlayFile], tokens: tuple[str, ...], path: str) -> None:
    try:
        _PATHS.compile(path)
    except jsonpath.JSONPathError as error:
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        file.refuse(tokens, f"invalid JSONPath `{path}`: {reason}", "write it by RFC 9535")


def apply_overlays(
    document: Document, overlays: Sequence[TypedFile[OverlayFile]], problems: Problems
) -> Document:
    """Apply all actions of the overlays to a document, in order.

    Raises:
        RejectedError: an action is incompatible with its target.
    """
    changed = _Overlaid(document, problems)
    for file in overlays:
        for number, action in enumerate(file.value.actions):
            changed.do(action, file, ("actions", str(number)))
    if not isinstance(changed.root, dict):
        raise RejectedError
    return replace(
        document, root=changed.root, locate=changed.locate, secrets=find_secrets(changed.root)
    )


class _Overlaid:
    def __init__(self, document: Document, problems: Problems) -> None:
        self.root: JsonValue = document.root
        self._document = document
        self._problems = problems
        self._places: dict[Parts, tuple[TypedFile[OverlayFile], tuple[str, ...]]] = {}
        self._indexes: dict[Parts, list[int]] = {}  # which item of an array each one was at first

    def do(self, action: Action, file: TypedFile[OverlayFile], at: tuple[str, ...]) -> None:
        """Apply one action to all its targets."""
        found: list[Parts] = [
            tuple(match.parts) for match in _PATHS.compile(action.target).finditer(self.root)
        ]
        if not found:
            self._problems.warning(
                "overlay-without-match",
                f"`{action.target}` matches nothing in {self._document.shown_as}",
                at=file.at((*at, "target")),
                why="the action changed nothing",
                help="the document may have changed, or the action before it; correct the path",
            )
        if action.remove:
            for parts in reversed(found):
                self._remove(parts, file, at)
            return
        value, tokens = action.update, (*at, "update")
        if value is UNSET:
            value, tokens = self._copy(action, file, at), (*at, "copy")
        for parts in found:
            self._update(parts, value, file, tokens)

    def _copy(self, action: Action, file: TypedFile[OverlayFile], at: tuple[str, ...]) -> JsonValue:
        """Return the value that `copy` selects."""
        found = [match.obj for match in _PATHS.compile(action.copy).finditer(self.root)]
        if len(found) == 1:
            return found[0]
        message = f"`{action.copy}` leads to {len(found)} values, and one is copied"
        file.refuse((*at, "copy"), message, "name the one")
        raise RejectedError

    def _remove(self, parts: Parts, file: TypedFile[OverlayFile], at: tuple[str, ...]) -> None:
        if not parts:
            file.refuse((*at, "target"), "the whole document cannot be removed", "name a part")
            raise RejectedError
        *_, last = parts
        parent = parts[:-1]

        def without(holder: JsonValue) -> JsonValue:
            if isinstance(holder, dict):
                return {key: value for key, value in holder.items() if key != last}
            return [item for index, item in enumerate(holder) if index != last]

        container = _get_value(self.root, parent)
        self.root = _set_at(self.root, parent, without)
        self._forget_locations(parts)
        if isinstance(container, list) and isinstance(last, int):
            del self._indexes.setdefault(parent, list(range(len(container))))[last]
            self._move_up(parent, last)

    def _forget_locations(self, parts: Parts) -> None:
        for known in [known for known in self._places if known[: len(parts)] == parts]:
            del self._places[known]
        for array in [array for array in self._indexes if array[: len(parts)] == parts]:
            del self._indexes[array]

    def _move_up(self, array: Parts, removed: int) -> None:
        """Shift the recorded locations of the items after a removed one."""
        self._places = {_move_item(key, array, removed): at for key, at in self._places.items()}
        self._indexes = {_move_item(key, array, removed): at for key, at in self._indexes.items()}

    def _update(
        self, parts: Parts, value: JsonValue, file: TypedFile[OverlayFile], tokens: tuple[str, ...]
    ) -> None:
        current = _get_value(self.root, parts)
        if isinstance(current, dict) is not isinstance(value, dict) and not isinstance(
            current, list
        ):
            target = json_pointer(tuple(map(str, parts)))
            file.refuse(
                tokens,
                f"what is at `{target}` and this value cannot be merged",
                "an object takes an object, an array its items, and any other value a plain one",
            )
            raise RejectedError
        self.root = _set_at(
            self.root, parts, lambda current: self._merge(current, value, parts, file, tokens)
        )

    def _merge(
        self,
        current: JsonValue,
        value: JsonValue,
        parts: Parts,
        file: TypedFile[OverlayFile],
        tokens: tuple[str, ...],
    ) -> JsonValue:
        if isinstance(current, dict) and isinstance(value, dict):
            merged = dict(current)
            for key, member in value.items():
                inner = (*parts, key)
                at = (*tokens, key)
                if key in current:
                    merged[key] = self._merge(current[key], member, inner, file, at)
                else:
                    merged[key] = member
                    self._places[inner] = (file, at)
            return merged
        if isinstance(current, list):
            items = value if isinstance(value, list) else [value]
            for number in range(len(items)):
                at = (*tokens, str(number)) if isinstance(value, list) else tokens
                self._places[(*parts, len(current) + number)] = (file, at)
            if parts in self._indexes:
                self._indexes[parts] += [-1] * len(items)
            return [*current, *items]
        self._forget_locations(parts)
        self._places[parts] = (file, tokens)
        return value

    def locate(self, pointer: str) -> Location:
        """Return the location of a value, in the overlay that wrote it or in the document."""
        there: list[str] = []
        parts: Parts = ()
        for number, token in enumerate(tokens := pointer_tokens(pointer)):
            array = self._indexes.get(parts)
            is_item = isinstance(_get_value(self.root, parts), list) and token.isdecimal()
            key: str | int = int(token) if is_item else token
            there.append(
                str(array[key]) if array and isinstance(key, int) and key < len(array) else token
            )
            parts = (*parts, key)
            if parts in self._places:
                file, at = self._places[parts]
                return file.at((*at, *tokens[number + 1 :]))
        return self._document.locate(json_pointer(tuple(there)))


def _move_item(parts: Parts, array: Parts, removed: int) -> Parts:
    depth = len(array)
    if len(parts) > depth and parts[:depth] == array:
        index = parts[depth]
        if isinstance(index, int) and index > removed:
            return (*array, index - 1, *parts[depth + 1 :])
    return parts


def _get_value(root: JsonValue, parts: Parts) -> JsonValue:
    """Return the value at the location, or None."""
    value = root
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _set_at(root: JsonValue, parts: Parts, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    """Return a copy with one value changed, which shares all other parts with the original."""
    if not parts:
        return change(root)
    part, *rest = parts
    if isinstance(root, list):
        return [
            _set_at(item, tuple(rest), change) if index == part else item
            for index, item in enumerate(root)
        ]
    if not isinstance(root, dict) or part not in root:
        return root
    return {**root, part: _set_at(root[part], tuple(rest), change)}

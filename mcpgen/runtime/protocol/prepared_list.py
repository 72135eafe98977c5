"""Lists of tools, prompts and resources, prepared as bytes and split into pages."""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS, JsonObject, encode_json
from mcpgen.runtime.protocol.versions import REVISION_2026_07_28, Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.protocol.routing_headers import HeaderRules

_POSITION_BYTES: Final = 4
_TAG_BYTES: Final = 12

_KINDS: Final = {  # key of the list -> member that identifies an item, its members in `Revision`
    "tools": ("name", "tool_keys"),
    "prompts": ("name", "prompt_keys"),
    "resources": ("uri", "resource_keys"),
    "resourceTemplates": ("uriTemplate", "template_keys"),
    "skills": ("uri", "skill_keys"),
}


class PreparedList:
    """One of the lists of a server; `kind` is its key in the result, for example "tools".

    Each line is one item as compact JSON in the newest shape, in list order. Lines are decoded only
    for clients of older revisions and to look up an item. A function that returns the lines is
    called when they are first needed; until then nothing is read.
    """

    def __init__(
        self,
        kind: str,
        lines: Iterable[bytes] | Callable[[], Iterable[bytes]] = (),
        *,
        page_size: int = 1000,
    ) -> None:
        self.kind = kind
        self.page_size = page_size
        self._id_key, self._keys_column = _KINDS[kind]
        self._read = lines if callable(lines) else None
        self._lines = [] if callable(lines) else [line for line in lines if line]
        self._shaped: dict[str, list[bytes]] = {}
        self._pages: dict[tuple[str, int], bytes] = {}
        self._items: dict[str, JsonObject] | None = None
        self._header_rules: dict[str, HeaderRules] | None = None
        self._fingerprint = b""

    @property
    def lines(self) -> list[bytes]:
        """The items in list order, each as compact JSON in the newest shape."""
        if self._read is not None:
            self._lines = [line for line in self._read() if line]
            self._read = None
        return self._lines

    def header_rules(self, name: str) -> HeaderRules:
        """Return the arguments of a tool that HTTP headers repeat."""
        if self._header_rules is None:
            from mcpgen.runtime.protocol.routing_headers import find_header_rules  # HTTP only

            annotated = [json.loads(line) for line in self.lines if b'"x-mcp-header"' in line]
            self._header_rules = {
                tool["name"]: find_header_rules(tool["inputSchema"]) for tool in annotated
            }
        return self._header_rules.get(name, {})

    @property
    def items(self) -> dict[str, JsonObject]:
        """The items by name (a resource's by URI, a template's by URI template), decoded once."""
        if self._items is None:
            decoded = (json.loads(line) for line in self.lines)
            self._items = {item[self._id_key]: item for item in decoded}
        return self._items

    def page(self, revision: Revision, cursor: object = None) -> bytes:
        """Return a page as members of a JSON object: `"tools":[...]`, perhaps with `nextCursor`.

        Raises:
            ProtocolError: `cursor` is invalid for this list.
        """
        start = 0 if cursor is None else self._position(cursor)
        key = (revision.name, start)
        if key not in self._pages:
            end = start + self.page_size
            lines = self._lines_for(revision)
            page = b'"%s":[%s]' % (self.kind.encode(), b",".join(lines[start:end]))
            if end < len(lines):
                page += b',"nextCursor":"%s"' % self._cursor(end)
            self._pages[key] = page
        return self._pages[key]

    def _lines_for(self, revision: Revision) -> list[bytes]:
        keys: frozenset[str] = getattr(revision, self._keys_column)
        if keys >= getattr(REVISION_2026_07_28, self._keys_column):
            return self.lines
        if revision.name not in self._shaped:
            self._shaped[revision.name] = [
                encode_json(_reshape(json.loads(line), keys, revision)) for line in self.lines
            ]
        return self._shaped[revision.name]

    def _cursor(self, position: int) -> bytes:
        encoded = position.to_bytes(_POSITION_BYTES, "big")
        return b2a_base64(encoded + self._tag(encoded), newline=False).translate(_TO_URL_SAFE)

    def _position(self, cursor: object) -> int:
        if type(cursor) is not str:
            raise _invalid_cursor()
        try:
            raw = a2b_base64(cursor.encode("ascii").translate(_FROM_URL_SAFE), strict_mode=True)
        except (ValueError, Base64Error):
            raise _invalid_cursor() from None
        position = int.from_bytes(raw[:_POSITION_BYTES], "big")
        if cursor.encode("ascii") != self._cursor(position):
            raise _invalid_cursor()
        return position

    def _tag(self, position: bytes) -> bytes:
        """Return the authentication tag of a cursor.

        Every process that serves the same list must accept the cursor, so that the list is the key.
        A cursor contains no more than a position in a list that the client may read anyway.
        """
        from hashlib import blake2b  # costs a millisecond, which a single page saves

        if not self._fingerprint:
            self._fingerprint = blake2b(b"\n".join(self.lines), digest_size=32).digest()
        return blake2b(
            self.kind.encode() + position, digest_size=_TAG_BYTES, key=self._fingerprint
        ).digest()


def split_tools(content: bytes) -> list[bytes]:
    """Cut a generated array of tools into the tools, each as compact JSON.

    In the layout that mcpgen writes, only a line end between two tools is not followed by a tab.
    Compact JSON contains neither line ends nor tabs, so removing them leaves the bytes of the wire.

    Raises:
        ValueError: `content` is in another layout and is not a JSON array.
    """
    if content.startswith(b"[\n{"):
        return content.replace(b"\n\t", b"").replace(b"\t", b"")[2:-3].split(b",\n")
    return [encode_json(tool) for tool in json.loads(content)]


_TO_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def _invalid_cursor() -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, "invalid cursor; request the first page again")


def _reshape(item: JsonObject, keys: frozenset[str], revision: Revision) -> JsonObject:
    shaped = {key: value for key, value in item.items() if key in keys}
    for argument in shaped.get("arguments", ()):
        for key in argument.keys() - revision.prompt_argument_keys:
            del argument[key]
    # A tool's annotations are of another type, which is the same in all revisions.
    if "annotations" in shaped and "inputSchema" not in shaped:
        annotations = shaped["annotations"]
        for key in annotations.keys() - revision.annotation_keys:
            del annotations[key]
    return shaped

"""Front matter of a `SKILL.md`, in the part of YAML that every parser reads alike.

A host compares the front matter of a skill with the JSON that the server sends, field by field
(MCP Skills extension, "Frontmatter Verification"). YAML 1.1 and 1.2 disagree about many plain
scalars: `yes`, `1.0`, `2026-01-02`. Those are rejected, and must be quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.jsonschema.types import JsonObject, JsonValue

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_FENCE: Final = "---"
_LINE_END: Final = re.compile(r"\r\n|\n")
_ENTRY: Final = re.compile(r"([A-Za-z][\w./-]*):(?:[ ]+(.*))?\Z")
_ITEM: Final = re.compile(r"-[ ]+(.*)\Z")
_BLOCK: Final = re.compile(r"([|>])(-?)\Z")
_QUOTED: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ ]*(?:[ ]\#.*)?\Z""")
_ESCAPES: Final = re.compile(r'\\(?:["\\nt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})')
_COMMENT: Final = re.compile(r"[ ]\#.*\Z")
_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_NUMBER_LIKE: Final = re.compile(
    r"[-+]?\.?[0-9][0-9a-fA-F_,.:xXoOtTzZeE+ -]*|[-+]?\.(inf|nan)", re.IGNORECASE
)
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "="})
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_INDICATORS: Final = frozenset("[]{}&*!|>'\"%@`#,?:-")


def check_skill(frontmatter: JsonObject, folder: str) -> None:
    """Check the fields of a skill that Agent Skills requires.

    Raises:
        ValueError: the name or the description is missing or invalid, or `folder`, the name of the
            directory, is not the name of the skill.
    """
    name, description = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not is_skill_name(name):
        raise ValueError(
            f"`name` must be 1 to {MAX_NAME} of a-z and 0-9, in words that are joined by `-`"
        )
    if name != folder:
        raise ValueError(f"`name` is `{name}`, and its directory is `{folder}`: they must be equal")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= MAX_DESCRIPTION:
        raise ValueError(f"`description` must be a text of 1 to {MAX_DESCRIPTION} characters")


def is_skill_name(name: str) -> bool:
    """Return whether Agent Skills allows this name of a skill."""
    return len(name) <= MAX_NAME and _NAME.match(name) is not None


def read_frontmatter(text: str) -> JsonObject:
    """Return the front matter of a `SKILL.md` as JSON.

    Its fields are scalars, block scalars (`>` and `|`), lists of scalars, and mappings of scalars.

    Raises:
        ValueError: there is none, or it uses a part of YAML that is not supported; the message
            names the line.
    """
    lines = _LINE_END.split(text)
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise ValueError("it must begin with front matter between two lines `---`")
    inner = lines[1 : lines.index(_FENCE, 1)]
    for number, line in enumerate(inner, 2):
        if not line.isprintable():
            raise ValueError(f"line {number}: unsupported character, such as a tab")
    return _Reading(inner).read_mapping(0, 0, len(inner))


class _Reading:
    """The lines between the fences; line numbers are those of the file."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def read_mapping(self, depth: int, start: int, end: int) -> JsonObject:
        """Read the entries of a mapping, which are indented by `depth` spaces."""
        fields: JsonObject = {}
        at = start
        while at < end:
            line = self._lines[at]
            if _is_ignored(line):
                at += 1
                continue
            found = _ENTRY.match(line[depth:]) if _measure_indent(line) == depth else None
            if found is None:
                raise self._make_error(at, "expected `key: value`; fold longer texts with `>-`")
            key, value = found[1], (found[2] or "").strip()
            if key in fields:
                raise self._make_error(at, f"duplicate key `{key}`")
            stop = self._find_end(at + 1, end, depth)
            fields[key] = self._read_value(value, at, stop, depth)
            at = stop
        return fields

    def _read_value(self, value: str, at: int, stop: int, depth: int) -> JsonValue:
        block = _BLOCK.match(_COMMENT.sub("", value).strip())
        if block is not None:
            return self._read_block(at + 1, stop, is_folded=block[1] == ">", is_cut=bool(block[2]))
        inner = [number for number in range(at + 1, stop) if not _is_ignored(self._lines[number])]
        if value and not value.startswith("#"):
            if inner:
                raise self._make_error(inner[0], "fold a text of several lines with `>-`")
            return self._read_scalar(value, at)
        if not inner or depth:
            raise self._make_error(at, "expected a value")
        indent = _measure_indent(self._lines[inner[0]])
        if not self._lines[inner[0]][indent:].startswith("- "):
            return self.read_mapping(indent, at + 1, stop)
        return [self._read_item(number, indent) for number in inner]

    def _read_item(self, at: int, indent: int) -> JsonValue:
        line = self._lines[at]
        found = _ITEM.match(line[indent:]) if _measure_indent(line) == indent else None
        if found is None:
            raise self._make_error(at, "expected an item of the list: `- value`")
        return self._read_scalar(found[1].strip(), at)

    def _find_end(self, start: int, end: int, depth: int) -> int:
        """Return the first line after `start` that is not part of the entry before it."""
        for number in range(start, end):
            line = self._lines[number]
            if line.strip() and _measure_indent(line) <= depth:
                return number
        return end

    def _read_block(self, start: int, stop: int, *, is_folded: bool, is_cut: bool) -> str:
        lines = [line.rstrip() for line in self._lines[start:stop]]
        while lines and not lines[-1]:
            lines.pop()
        if not lines or not lines[0]:
            raise self._make_error(start - 1, "expected the text of the block in the next line")
        indent = _measure_indent(lines[0])
        for number, line in enumerate(lines):
            is_deeper = line[indent : indent + 1] == " "
            if line and (_measure_indent(line) < indent or (is_folded and is_deeper)):
                raise self._make_error(start + number, "expected the indent of the first line")
        text = "\n".join(line[indent:] for line in lines)
        if is_folded:  # a line end is a space, and of several line ends the first one is dropped
            text = re.sub(r"\n+", lambda found: found[0][1:] or " ", text)
        return text if is_cut else text + "\n"

    def _read_scalar(self, value: str, at: int) -> JsonValue:
        if value[0] in "\"'":
            return self._read_quoted(value, at)
        text = _COMMENT.sub("", value).rstrip()
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        is_indicator = text[0] in _INDICATORS and not re.match(r"[-?:][^ ]", text)
        is_ambiguous = text.lower() in _WORDS or _NUMBER_LIKE.fullmatch(text) is not None
        is_mapping = ": " in text or text.endswith(":")
        if is_indicator or is_ambiguous or is_mapping:
            raise self._make_error(at, "YAML parsers read this value differently; quote it")
        return text

    def _read_quoted(self, value: str, at: int) -> str:
        found = _QUOTED.match(value)
        inner = "" if found is None else found[1]
        if inner.startswith("'"):
            return inner[1:-1].replace("''", "'")
        if not inner or "\\" in _ESCAPES.sub("", inner):
            raise self._make_error(at, 'invalid quoted text: the escapes are \\" \\\\ \\n \\t \\u')
        text: str = json.loads(inner)
        return text

    def _make_error(self, index: int, message: str) -> ValueError:
        return ValueError(f"line {index + 2}: {message}")


def _is_ignored(line: str) -> bool:
    return not line.strip() or line.lstrip(" ").startswith("#")


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))

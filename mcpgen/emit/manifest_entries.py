"""Setting of single values in the text of a manifest; every other character stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from mcpgen.emit.manifest_text import ManifestEditError, ManifestText
from mcpgen.ir.yaml_nodes import find_node_end
from mcpgen.jsonschema.types import JsonValue
from mcpgen.jsonschema.values import copy_value

_INDENT = "  "
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


def set_values(manifest: bytes, values: Mapping[tuple[str, ...], JsonValue]) -> bytes:
    """Return the manifest with `values`, by the keys that lead to them.

    Missing mappings are added in the style of the one around them. A value that exists is replaced
    if it is written on one line.

    Raises:
        ManifestEditError: the text cannot be edited.
    """
    text = ManifestText(manifest)
    expected = copy_value(text.value)  # YAML aliases share their values
    for keys, value in values.items():
        _set(text, keys, value)
        _set_in(expected, keys, value)
    return text.finish(expected)


def _set_in(mapping: dict[str, Any], keys: Sequence[str], value: JsonValue) -> None:
    for key in keys[:-1]:
        if mapping.get(key) is None:
            mapping[key] = {}
        mapping = mapping[key]
    mapping[keys[-1]] = value


def _set(text: ManifestText, keys: tuple[str, ...], value: JsonValue) -> None:
    mapping, depth = text.compose(), 0
    while True:
        found = next((pair for pair in mapping.value if pair[0].value == keys[depth]), None)
        if found is None:
            _insert(text, mapping, keys[depth:], value)
            return
        key, node = found
        depth += 1
        if depth == len(keys):
            _replace(text, node, value)
            return
        if isinstance(node, yaml.MappingNode) and (node.value or not node.flow_style):
            mapping = node
        elif node.tag == "tag:yaml.org,2002:null" or node.value == []:
            _fill(text, key, node, keys[depth:], value)
            return
        else:
            raise ManifestEditError


def _replace(text: ManifestText, node: yaml.Node, value: JsonValue) -> None:
    start, end = node.start_mark.index, find_node_end(node)
    if "\n" in text.text[start:end] or start == end:
        raise ManifestEditError
    text.replace(start, end, text.spell_on_one_line(value))


def _insert(
    text: ManifestText, mapping: yaml.MappingNode, keys: Sequence[str], value: JsonValue
) -> None:
    """Add a pair after the last one of a mapping."""
    if mapping.flow_style:
        at = find_node_end(mapping.value[-1][1])
        text.replace(at, at, f", {_spell_flow(text, keys, value)}")
        return
    if not mapping.value:
        raise ManifestEditError
    end = find_node_end(mapping.value[-1][1])
    indent = " " * mapping.start_mark.column
    text.insert_line(text.line_end(end), _spell_block(text, keys, value, indent))


def _fill(
    text: ManifestText, key: yaml.Node, node: yaml.Node, keys: Sequence[str], value: JsonValue
) -> None:
    """Write the first pair of a mapping that has none: `operations:` or `operations: {}`."""
    start = text.text.index(":", key.end_mark.index) + 1
    end = max(node.end_mark.index, start)
    if text.text[start:end].strip() not in ("", "{}", "~", "null"):
        raise ManifestEditError
    line_end = text.line_end(start)
    end = min(end, line_end)
    text.replace(start, end, "")
    indent = " " * key.start_mark.column + _INDENT
    text.insert_line(text.line_end(start), _spell_block(text, keys, value, indent))


def _spell_block(text: ManifestText, keys: Sequence[str], value: JsonValue, indent: str) -> str:
    lines = []
    for key in keys[:-1]:
        lines.append(f"{indent}{_spell_key(key)}:")
        indent += _INDENT
    lines.append(f"{indent}{_spell_key(keys[-1])}: {text.spell_on_one_line(value)}")
    return "\n".join(lines)


def _spell_flow(text: ManifestText, keys: Sequence[str], value: JsonValue) -> str:
    flow = text.spell_on_one_line(value)
    for key in reversed(keys):
        flow = f"{{{_spell_key(key)}: {flow}}}"
    return flow[1:-1]


def _spell_key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and yaml.safe_load(key) == key:
        return key
    return yaml.dump(key, default_style='"', allow_unicode=True, width=10_000).strip()

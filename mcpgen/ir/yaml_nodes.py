"""Ends of YAML nodes in a text, for edits that change nothing else."""

from __future__ import annotations

import yaml


def find_node_end(node: yaml.Node) -> int:
    """Return the end of a node's text, without the rest of its last line."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return find_node_end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def find_line_end(text: str, at: int) -> int:
    """Return the index of the line after the one at this index, or the end of the text."""
    if at and text[at - 1] == "\n":  # at a block scalar, which ends with its line
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1

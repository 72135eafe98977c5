"""Where the text of a YAML node ends, for edits that leave everything else as it is."""

from __future__ import annotations

import yaml


def find_node_end(node: yaml.Node) -> int:
    """Return where the text of a node ends, without what follows on its last line."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return find_node_end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def find_line_end(text: str, at: int) -> int:
    """Return where the line after the one at this index begins, or the text ends."""
    if at and text[at - 1] == "\n":  # of a block scalar, which ends with its line
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1

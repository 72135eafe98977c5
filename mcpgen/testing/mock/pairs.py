"""The `name=value` pairs of a query, a form or a cookie header."""

from __future__ import annotations

import re
from urllib.parse import unquote

from mcpgen.testing.mock.typed import Shape


def unescape(text: str, *, plus: bool = False) -> str:
    """Undo percent-encoding; with `plus`, "+" is a space. Invalid UTF-8 is escaped."""
    return unquote(text.replace("+", " ") if plus else text, errors="backslashreplace")


class Pairs:
    """The pairs that have not been taken yet, in order. Values are raw."""

    def __init__(self, text: str, *, plus_is_space: bool = True) -> None:
        self.plus_is_space = plus_is_space
        split = (pair.partition("=") for pair in text.split("&") if pair)
        self._left = [(unescape(name, plus=plus_is_space), value) for name, _, value in split]

    def list_names(self) -> list[str]:
        """Return the names of the remaining pairs, without duplicates."""
        return list(dict.fromkeys(name for name, _ in self._left))

    def take(self, name: str) -> list[str]:
        """Take every pair of this name; return their raw values."""
        taken = [value for key, value in self._left if key == name]
        self._left = [pair for pair in self._left if pair[0] != name]
        return taken

    def take_pair(self, name: str, value: str) -> bool:
        """Take one pair with this name and decoded value; return whether there was one."""
        for pair in self._left:
            if pair[0] == name and unescape(pair[1], plus=self.plus_is_space) == value:
                self._left.remove(pair)
                return True
        return False

    def take_tree(self, name: str) -> Shape | None:
        """Take `name[a]=1`, `name[b][c]=2`, ... as nested maps; None without such pairs.

        Repeated pairs, and those ending in `[]`, are lists. `name=1` is included: a scalar in style
        `deepObject`.
        """
        root: dict[str, Shape] = {}
        left = []
        for key, value in self._left:
            steps = _split_brackets(name, key)
            if steps is None:
                left.append((key, value))
            else:
                _insert(root, ["", *steps], unescape(value, plus=self.plus_is_space))
        self._left = left
        return root.get("")


def _split_brackets(name: str, key: str) -> list[str] | None:
    """Return the names in brackets after `name`: "a[b][]" has ["b", ""]; None for other keys."""
    if key == name:
        return []
    if not key.startswith(f"{name}["):
        return None
    brackets = key[len(name) :]
    if not re.fullmatch(r"(\[[^\[\]]*\])+", brackets):
        return None
    return re.findall(r"\[([^\[\]]*)\]", brackets)


def _insert(tree: dict[str, Shape], steps: list[str], text: str) -> None:
    """Insert a text at a path; a second text at the same path makes a list."""
    is_list = len(steps) > 1 and not steps[-1]
    if is_list:
        steps = steps[:-1]
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            inner = tree[step] = {"": inner}
        tree = inner
    last = steps[-1]
    already = tree.get(last)
    if already is None:
        tree[last] = [text] if is_list else text
    elif isinstance(already, list):
        already.append(text)
    elif isinstance(already, str):
        tree[last] = [already, text]
    else:
        already[""] = text

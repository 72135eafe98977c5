"""The stubs of a server's functions: those that a snippet uses, and those that a model reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

_BLOCK: Final = re.compile(r"(?:def|class) (\w+)|(\w+) = TypedDict\(")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
START: Final = "start"
"""The function that starts a call without waiting for its result, unless a tool has this name."""
_START_STUB: Final = """\
from collections.abc import Awaitable, Callable

def start[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
    ..."""
_START_HINT: Final = (
    "# Independent calls at once (with `import asyncio`):"
    " await asyncio.gather(*[start(function, argument=x) for x in values])"
)
_MAX_FUNCTIONS: Final = 20  # that one answer shows, and names that it does not show
_MAX_TYPES_BYTES: Final = 6_000  # of the types of arguments and results that an answer shows
_MAX_INNER_BYTES: Final = 1_500  # of the types inside of them


class StubFile:
    """The blocks of `functions.pyi`, by the names that they define.

    Blocks are separated by two empty lines, and the first one has the imports. `functions` maps
    each function that may be called to the name of its tool.
    """

    def __init__(self, text: str, functions: Mapping[str, str]) -> None:
        header, *blocks = text.strip("\n").split("\n\n\n")
        self._header = header.rpartition('"""')[2].strip()
        self._blocks: dict[str, str] = {}
        for block in blocks:
            match = _BLOCK.match(block)
            if match is not None:
                self._blocks[match[1] or match[2]] = block
        self.functions = {name: tool for name, tool in functions.items() if self._is_function(name)}
        """The tools by the names of their functions."""
        self.has_start = START not in self._blocks
        """Whether code can start calls."""

    def select(self, code: str) -> str:
        """Return the stubs for a snippet: the functions whose names it has, and their types."""
        words = set(_WORD.findall(code))
        used = self.functions.keys() & words
        blocks = [self._blocks[name] for name in [*sorted(used), *self._find_types(used)]]
        if self.has_start and START in words:
            blocks.insert(0, _START_STUB)
        return "\n\n\n".join([self._header, *blocks, ""])

    def describe(self, names: Sequence[str]) -> str:
        """Return functions and types for a model: small types in full, others by their names.

        Raises:
            KeyError: there is no function or type of a name; its argument is the name.
        """
        unknown = [name for name in names if name not in self._blocks or self._is_hidden(name)]
        if unknown:
            raise KeyError(unknown[0])
        shown = [self._blocks[name] for name in names[:_MAX_FUNCTIONS]]
        left = [*names[_MAX_FUNCTIONS:]]
        outer = [it for name in names for it in self._list_words(name) if it not in names]
        inner = [it for it in self._find_types(names) if it not in outer and it not in names]
        for types, bound in ((dict.fromkeys(outer), _MAX_TYPES_BYTES), (inner, _MAX_INNER_BYTES)):
            used = 0
            for name in types:
                block = self._blocks[name]
                if used + len(block) > bound:
                    left.append(name)
                    continue
                used += len(block)
                shown.append(block)
        if left:
            named = ", ".join([*left[:_MAX_FUNCTIONS], *(["…"] if left[_MAX_FUNCTIONS:] else [])])
            shown.append(f"# Not shown; describe them by name: {named}")
        if self.has_start and any(map(self._is_function, names)):
            shown.append(_START_HINT)
        return "\n\n".join(shown)

    def find_signature(self, name: str) -> str:
        """Return the first line of a function: "def get_pet(*, pet_id: int) -> Pet"."""
        return self._blocks[name].partition("\n")[0].removesuffix(":")

    def find_members(self, name: str) -> list[str]:
        """Return the names of the members of a type; [] if there is no such type."""
        block = self._blocks.get(name, "")
        return re.findall(r"^    [\"']?([^\"':\s]+)[\"']?:", block, re.MULTILINE)

    def suggest(self, name: str) -> list[str]:
        """Return up to three functions with similar names."""
        return get_close_matches(name[:100], self.functions, n=3, cutoff=0.6)

    def _is_function(self, name: str) -> bool:
        return self._blocks.get(name, "").startswith("def ")

    def _is_hidden(self, name: str) -> bool:
        """Return whether a block is a function that may not be called."""
        return self._is_function(name) and name not in self.functions

    def _find_types(self, names: Iterable[str]) -> list[str]:
        """Return the types that some blocks need, the nearest first."""
        found: dict[str, None] = {}
        waiting = [*names]
        while waiting:
            for word in self._list_words(waiting.pop(0)):
                if word not in found:
                    found[word] = None
                    waiting.append(word)
        return list(found)

    def _list_words(self, name: str) -> list[str]:
        """Return the types that a block names, apart from itself."""
        block = self._blocks[name]
        # The docstring of a function has words that may equal names of types.
        text = block.partition("\n")[0] if self._is_function(name) else block
        return [
            word
            for word in _WORD.findall(text)
            if word in self._blocks and word != name and not self._is_function(word)
        ]

"""Members of the values that a listed output schema describes, by dotted path: `owner.name`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mcpgen.jsonschema.types import JsonObject, JsonSchema

_MAX_PATHS = 1_000  # that are compared to suggest one
_MAX_DEPTH = 20  # of choices inside choices
_HOLDERS = frozenset({"$ref", "anyOf", "items", "properties"})

Names = tuple[str, ...]


class ResultMembers:
    """The members of a result; those of the items of a list are named without the list.

    `result_key` is the member of the schema that wraps a result which is not an object, or "".
    """

    def __init__(self, schema: JsonObject, result_key: str = "") -> None:
        self._definitions: Mapping[str, JsonSchema] = schema.get("$defs", {})
        self._result_key = result_key
        self._roots = [schema["properties"][result_key]] if result_key else [schema]

    def find(self, path: str) -> Names | None:
        """Return the names of a path; None if no described value has such a member."""
        bare = path.replace("[]", "")
        inside = bare.removeprefix(f"{self._result_key}.") if self._result_key else bare
        for candidate in dict.fromkeys((path, bare, inside)):
            found = self._find(candidate, self._roots)
            if found is not None:
                return found
        return None

    def suggest(self, path: str) -> str:
        """Return the described path that is most similar to an unknown one, or ""."""
        import difflib  # only on the way to an error

        paths = list(self.iterate_paths())
        deeper = [known for known in paths if known.endswith(f".{path}")]
        close = deeper or difflib.get_close_matches(path[:200], paths, n=1)
        return close[0] if close else ""

    def list_first_paths(self, most: int) -> tuple[str, ...]:
        """Return the first `most` described paths, and the first nested one if it comes later."""
        paths = self.iterate_paths()
        first = list(itertools.islice(paths, most))
        if not any("." in path for path in first):
            first += itertools.islice((path for path in paths if "." in path), 1)
        return tuple(first)

    def iterate_paths(self) -> Iterator[str]:
        """Yield the described paths, shallow ones first; recursion is entered once."""
        level: list[tuple[Names, list[JsonSchema]]] = [((), self._roots)]
        entered: set[str] = set()
        count = 0
        while level:
            deeper: list[tuple[Names, list[JsonSchema]]] = []
            for names, nodes in level:
                members, _ = self._gather(nodes, entered)
                for name, inner in members.items():
                    yield ".".join((*names, name))
                    count += 1
                    if count >= _MAX_PATHS:
                        return
                    if any(map(_has_members, inner)):
                        deeper.append(((*names, name), inner))
            level = deeper

    def _find(self, path: str, nodes: Sequence[JsonSchema]) -> Names | None:
        members, others = self._gather(nodes)
        for name in sorted(members, key=len, reverse=True):
            if path == name:
                return (name,)
            if path.startswith(f"{name}."):
                inside = self._find(path[len(name) + 1 :], members[name])
                if inside is not None:
                    return (name, *inside)
        if others is None or not path:
            return None
        name, _, rest = path.partition(".")
        inside = self._find(rest, others) if rest else ()
        return None if inside is None else (name, *inside)

    def _gather(
        self, nodes: Iterable[JsonSchema], entered: set[str] | None = None
    ) -> tuple[dict[str, list[JsonSchema]], list[JsonSchema] | None]:
        """Return the schemas of the members of values, and those of undescribed members.

        The latter are None if there are no undescribed members. References that are in `entered`
        are skipped, and others are added to it.
        """
        members: dict[str, list[JsonSchema]] = {}
        others: list[JsonSchema] = []
        is_open = False
        waiting = [(node, 0) for node in nodes]
        while waiting:
            node, depth = waiting.pop()
            if not isinstance(node, dict) or depth > _MAX_DEPTH:
                is_open |= node is True
                continue
            if "$ref" in node:
                reference = node["$ref"].rpartition("/")[2]
                if entered is not None and reference in entered:
                    continue
                if entered is not None:
                    entered.add(reference)
                waiting.append((self._definitions.get(reference, True), depth + 1))
                continue
            waiting += [(inner, depth + 1) for inner in node.get("anyOf", ())]
            if "items" in node:
                waiting.append((node["items"], depth + 1))
            for name, member in node.get("properties", {}).items():
                members.setdefault(name, []).append(member)
            if isinstance(node.get("additionalProperties"), dict):
                others.append(node["additionalProperties"])
            may_be_object = "object" in node.get("type", ["object"])
            is_open |= may_be_object and not {"properties", "anyOf", "items", "$ref"} & node.keys()
        if is_open and not others:
            others.append(True)
        return members, others or None


def _has_members(schema: JsonSchema) -> bool:
    """Return whether values may have described members."""
    return isinstance(schema, dict) and not _HOLDERS.isdisjoint(schema)


def nest_names(paths: Iterable[Names]) -> JsonObject:
    """Nest paths by their names; a path that is selected as a whole includes those inside of it."""
    tree: JsonObject = {}
    chosen = {*paths}
    for path in sorted(chosen):
        if any(path[:length] in chosen for length in range(1, len(path))):
            continue
        node = tree
        for name in path:
            node = node.setdefault(name, {})
    return tree

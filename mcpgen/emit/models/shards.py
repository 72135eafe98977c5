"""The work of making models, divided so that two processes can do it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.emit.models.shapes import Shape, references

_PROPERTIES_WORTH_A_SECOND_PROCESS = 1500


class Shard(Struct, frozen=True):
    """Definitions to be made, and for what they refer to elsewhere, stand-ins of the same name."""

    shapes: Mapping[str, Shape]
    stand_ins: Mapping[str, Shape]

    @property
    def definitions(self) -> dict[str, Shape]:
        """All that the child process is told."""
        return {**self.stand_ins, **self.shapes}


def divide(shapes: Mapping[str, Shape]) -> list[Shard]:
    """Divide the work in at most two, by size alone, so that every machine divides it alike.

    Definitions that refer to each other in a circle stay together.
    """
    sizes = {name: 1 + len(shape.get("properties", ())) for name, shape in shapes.items()}
    if not shapes:
        return []
    half = sum(sizes.values()) // 2
    if half < _PROPERTIES_WORTH_A_SECOND_PROCESS:
        return [Shard(shapes, {})]
    first: dict[str, Shape] = {}
    taken = 0
    for names in _components({name: references(shape) for name, shape in shapes.items()}):
        if taken < half:
            first |= {name: shapes[name] for name in names}
            taken += sum(sizes[name] for name in names)
    second = {name: shape for name, shape in shapes.items() if name not in first}
    return [_with_stand_ins(part) for part in (first, second) if part]


def _with_stand_ins(part: Mapping[str, Shape]) -> Shard:
    referred = {name for shape in part.values() for name in references(shape)} - set(part)
    stand_in: Shape = {"type": "object", "properties": {"stand_in": {"type": "string"}}}
    return Shard(part, dict.fromkeys(sorted(referred), stand_in))


def _components(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Give the strongly connected components, what is referred to first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    components: list[list[str]] = []
    for root in sorted(edges):
        if root in index:
            continue
        to_do = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        open_names.append(root)
        is_open.add(root)
        while to_do:
            name, successors = to_do[-1]
            for successor in successors:
                if successor not in edges:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    open_names.append(successor)
                    is_open.add(successor)
                    to_do.append((successor, iter(sorted(edges[successor]))))
                    break
                if successor in is_open:
                    low[name] = min(low[name], index[successor])
            else:
                to_do.pop()
                if to_do:
                    parent = to_do[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == index[name]:
                    component: list[str] = []
                    while name not in component:
                        component.append(open_names.pop())
                    is_open.difference_update(component)
                    components.append(sorted(component))
    return components

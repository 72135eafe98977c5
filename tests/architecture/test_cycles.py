"""Tests that modules do not import each other in cycles, neither for types nor inside functions."""

from __future__ import annotations

from tests.architecture.source_modules import modules


def imports_by_module() -> dict[str, set[str]]:
    """Map each module to the modules that it imports, at any level.

    Importing a module also imports the packages around it, except those of the importing module.
    """
    found = modules()
    names = {module.name for module in found}
    graph = {}
    for module in found:
        graph[module.name] = imported = set()
        for target in module.imported() & names:
            parts = target.split(".")
            packages = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
            imported |= {name for name in packages if not f"{module.name}.".startswith(f"{name}.")}
    return graph


def find_cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of two or more modules (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            cut = stack.index(node)
            component = stack[cut:]
            del stack[cut:]
            if len(component) > 1:
                cycles.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(cycles)


def test_modules_do_not_import_each_other_in_a_cycle() -> None:
    assert find_cycles(imports_by_module()) == []


def test_a_cycle_through_three_modules_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert find_cycles(graph) == [["a", "b", "c"]]

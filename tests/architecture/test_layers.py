"""Tests that layers import only layers below them, and that stages do not import each other."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.source_modules import SourceModule, layer, modules

BASE = {"absent", "contract", "jsonschema", "search", "text"}
STAGES = {"changelog", "emit", "manifest", "openapi", "plan", "render"}
BELOW_STAGES = {"ir", "cache_files", "child_script", "diagnostics", "forked", "garbage", *BASE}
MAY_IMPORT = {
    "absent": set(),
    "cache_files": set(),
    "child_script": set(),
    "diagnostics": set(),
    "forked": set(),
    "garbage": set(),
    "text": {"text"},
    "search": {"search", "text"},
    "jsonschema": {"absent", "jsonschema", "text"},
    "contract": {"absent", "contract", "jsonschema", "text"},
    "runtime": {"runtime", *BASE},
    "testing": {"testing", "runtime", *BASE},
    "ir": BELOW_STAGES,
    **{stage: {stage, *BELOW_STAGES} for stage in STAGES},
    # Overlays, declared tools and Arazzo documents are documents or parts of them.
    "manifest": {"manifest", "openapi", *BELOW_STAGES},
    "pipeline": {"pipeline", *STAGES, *BELOW_STAGES},
    "factory": {"factory", "pipeline", "changelog", "runtime", "testing", *BELOW_STAGES},
    "cli": {"cli", "factory", "pipeline", *STAGES, "runtime", "testing", *BELOW_STAGES},
    "__main__": {"cli"},
}

MODULES = modules()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_imports_only_layers_below_its_own(module: SourceModule) -> None:
    own = layer(module.name)
    if not own:
        assert not {name for name in module.imported() if name.startswith("mcpgen")}
        return
    allowed = MAY_IMPORT[own]
    wrong = {
        name
        for name in module.imported()
        if name.startswith("mcpgen.") and layer(name) not in allowed
    }
    assert not wrong, f"{module.name} must not import {sorted(wrong)}"


def test_no_module_is_in_an_import_cycle() -> None:
    names = {module.name for module in MODULES}
    graph = {
        module.name: {
            name
            for name in module.imported(at_import_time=True)
            if name in names and not module.name.startswith(f"{name}.") and name != module.name
        }
        for module in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))


def test_transports_import_neither_tools_nor_upstream() -> None:
    wrong = {
        (module.name, name)
        for module in MODULES
        if module.name.startswith("mcpgen.runtime.transports")
        for name in module.imported()
        if name.startswith(("mcpgen.runtime.upstream", "mcpgen.runtime.tools.registry"))
    }
    assert not wrong

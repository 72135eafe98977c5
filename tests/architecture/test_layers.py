"""Imports go one way: cli -> factory -> pipeline -> stages -> ir -> diagnostics; runtime alone."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.source_modules import SourceModule, layer, modules

STAGES = {"spec", "plan", "render", "emit", "changelog"}
MAY_IMPORT = {
    "diagnostics": set(),
    "runtime": {"runtime"},
    "ir": {"ir", "diagnostics"},
    **{stage: {stage, "ir", "diagnostics"} for stage in STAGES},
    "pipeline": {"pipeline", *STAGES, "ir", "diagnostics"},
    "factory": {"factory", "pipeline", "changelog", "runtime", "ir", "diagnostics"},
    "cli": {"cli", "factory", "pipeline", *STAGES, "ir", "diagnostics", "runtime"},
    "__main__": {"cli"},
}
# Leaves of the runtime that the generator needs too, since a server has the runtime alone.
BELOW_EVERYTHING = (
    "mcpgen.runtime.absent",
    "mcpgen.runtime.protocol.uri_template",
    "mcpgen.runtime.extras",
    "mcpgen.runtime.hosts",
    "mcpgen.runtime.media_types",
    "mcpgen.runtime.needs",
    "mcpgen.runtime.part_headers",
    "mcpgen.runtime.question",
    "mcpgen.runtime.thesaurus",
    "mcpgen.runtime.toolset_names",
    "mcpgen.runtime.words",
    "mcpgen.runtime.testing.failures",
    "mcpgen.runtime.testing.samples",
    "mcpgen.runtime.testing.settings",
    "mcpgen.runtime.workflow_values",
    "mcpgen.runtime.testing.snapshot",
)

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
        if name.startswith("mcpgen.")
        and layer(name) not in allowed
        and not name.startswith(BELOW_EVERYTHING)
        and not any(leaf.startswith(f"{name}.") for leaf in BELOW_EVERYTHING)
    }
    assert not wrong, f"{module.name} must not import {sorted(wrong)}"


def test_no_module_imports_itself_in_a_circle() -> None:
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


def test_transports_know_neither_tools_nor_the_api_behind_them() -> None:
    wrong = {
        (module.name, name)
        for module in MODULES
        if module.name.startswith("mcpgen.runtime.transports")
        for name in module.imported()
        if name.startswith(("mcpgen.runtime.upstream", "mcpgen.runtime.tools"))
    }
    assert not wrong

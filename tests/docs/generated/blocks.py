"""The generated blocks of the documentation, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcpgen.ir.eval_tasks import TasksFile
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tests_file import CasesFile
from mcpgen.ir.waivers import WaiversFile
from mcpgen.ir.workspace import WorkspaceFile
from tests.docs.generated.agreement import disagreement_table, finding_table
from tests.docs.generated.commands import command_reference, server_help
from tests.docs.generated.diagnostics import diagnostics_reference
from tests.docs.generated.fields import fleet_fields
from tests.docs.generated.handler_api import handler_api
from tests.docs.generated.install_clients import install_clients
from tests.docs.generated.keys import key_tables
from tests.docs.generated.lint import lint_clients, lint_rules
from tests.docs.generated.requirements import requirement_tables
from tests.docs.generated.server_settings import setting_tables
from tests.docs.generated.validation import validation

BLOCKS: Final[dict[str, Callable[[], str]]] = {
    "commands": command_reference,
    "diagnostics": diagnostics_reference,
    "fleet-fields": fleet_fields,
    "handler-api": handler_api,
    "install-clients": install_clients,
    "lint-clients": lint_clients,
    "lint-rules": lint_rules,
    "manifest-keys": lambda: key_tables(Manifest),
    "requirements": requirement_tables,
    "server-help": server_help,
    "server-settings": setting_tables,
    "tasks-keys": lambda: key_tables(TasksFile, level="##"),
    "tests-file-keys": lambda: key_tables(CasesFile, level="##"),
    "validation": validation,
    "validator-disagreements": disagreement_table,
    "validator-findings": finding_table,
    "waivers-keys": lambda: key_tables(WaiversFile, level="##"),
    "workspace-keys": lambda: key_tables(WorkspaceFile, level="##"),
}

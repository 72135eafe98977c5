"""The task service of a server, and where it stores tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.state_folder import find_state_folder
from mcpgen.runtime.tasks.service import TaskService

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpgen.contract.limits import Limits
    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.protocol.server_definition import ServerDefinition
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.tasks.service import TaskHost

FILE: Final = "tasks.db"


def make_task_service(
    host: TaskHost,
    definition: ServerDefinition,
    contract: JsonObject,
    program: str,
    environ: Mapping[str, str],
    *,
    limits: Limits,
) -> TaskService:
    """Return the service of a server that declares the Tasks extension."""

    def open_it() -> Store:
        return host.store or open_task_store(contract, program, environ)

    has_own = "credentials" in contract
    return TaskService(host, definition, open_it, limits=limits, has_caller_credentials=has_own)


def open_task_store(contract: JsonObject, program: str, environ: Mapping[str, str]) -> Store:
    """Open STATE_URL; without that setting, a file in the state folder of the program.

    If the folder cannot be written, tasks are kept in memory, and the log says so.

    Raises:
        ConfigurationError: STATE_URL cannot be used.
    """
    name = contract["name"]
    setting = f"{contract.get('env_prefix', '')}STATE_URL"
    url = environ.get(setting, "").strip()
    if url:
        return open_store(url, server=name)
    path = find_state_folder(program, environ) / FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_store(f"sqlite:///{path}", server=name)
    except (OSError, ConfigurationError) as error:
        log("warning", f"tasks are lost when this process ends: {error}; set {setting}")
        return open_store("memory:")

"""The task service of a server, and where it stores tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.tasks.service import TaskService
from mcpgen.runtime.upstream.auth.token_store import find_state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpgen.runtime.handlers.dispatcher import Dispatcher
    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.state.store import Store

FILE: Final = "tasks.db"


def make_task_service(
    package: ServerPackage, dispatcher: Dispatcher, environ: Mapping[str, str]
) -> TaskService:
    """Return the service of a server that declares the Tasks extension."""

    def open_it() -> Store:
        return dispatcher.store or open_task_store(package, environ)

    return TaskService(
        dispatcher,
        package.definition,
        open_it,
        limits=dispatcher.limits,
        has_caller_credentials="credentials" in package.contract,
    )


def open_task_store(package: ServerPackage, environ: Mapping[str, str]) -> Store:
    """Open STATE_URL; without that setting, a file in the state folder of the user.

    If the folder cannot be written, tasks are kept in memory, and the log says so.

    Raises:
        ConfigurationError: STATE_URL cannot be used.
    """
    name = package.contract["name"]
    setting = f"{package.contract.get('env_prefix', '')}STATE_URL"
    url = environ.get(setting, "").strip()
    if url:
        return open_store(url, server=name)
    path = find_state_folder(package.program, environ) / FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_store(f"sqlite:///{path}", server=name)
    except (OSError, ConfigurationError) as error:
        log("warning", f"tasks are lost when this process ends: {error}; set {setting}")
        return open_store("memory:")

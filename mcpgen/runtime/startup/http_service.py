"""A package served over HTTP: its endpoints and their resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.json import Encoder

from mcpgen.runtime.transports.http.streamable import StreamableHttp
from mcpgen.runtime.transports.json_input import make_hot_decoder

if TYPE_CHECKING:
    from mcpgen.runtime.connect.service import ConnectService
    from mcpgen.runtime.handlers.dispatcher import Dispatcher
    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.state.replica import Replica
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.transports.http.host_check import HostCheck
    from mcpgen.runtime.transports.http.server_card import ServerCard


@dataclass(frozen=True, slots=True)
class HttpService:
    """The endpoints of a package, for our HTTP server and for ASGI servers."""

    app: StreamableHttp
    dispatcher: Dispatcher
    authorization: HttpAuthorization | None
    replica: Replica | None

    @classmethod
    async def open(
        cls,
        package: ServerPackage,
        *,
        host_check: HostCheck,
        authorization: HttpAuthorization | None,
        has_sessions: bool,
        with_sse: bool,
        card: ServerCard | None = None,
    ) -> HttpService:
        """Load the handlers and open the store, in the process that serves.

        Raises:
            ConfigurationError: a setting is invalid, or handlers and contract disagree.
        """
        store = package.open_store()
        connect = _load_connect(package, store)
        dispatcher = package.make_dispatcher(store=store, connect=connect)
        if dispatcher.task_service is not None:
            dispatcher.task_service.start()
        replica = None if store is None else await _join_replicas(store)
        app = StreamableHttp(
            package.definition,
            dispatcher,
            decode=make_hot_decoder(),
            encode=Encoder().encode,
            host_check=host_check,
            replica=replica,
            has_sessions=has_sessions,
            with_sse=with_sse,
            caller_headers=package.caller_headers,
            authorization=authorization,
            pages=None if connect is None else connect.make_pages(dispatcher.finish_elicitation),
            card=card,
        )
        return cls(app, dispatcher, authorization, replica)

    async def aclose(self) -> None:
        """Release all resources; call it after the last call has ended."""
        if self.replica is not None:
            await self.replica.aclose()
        await self.dispatcher.aclose()
        if self.authorization is not None:
            await self.authorization.aclose()


async def _join_replicas(store: Store) -> Replica:
    from mcpgen.runtime.state.replica import join_replicas

    return await join_replicas(store)


def _load_connect(package: ServerPackage, store: Store | None) -> ConnectService | None:
    """Return the service with which users connect accounts; None if they do not."""
    if "credentials" not in package.contract:
        return None
    from mcpgen.runtime.startup.connecting import has_user_schemes

    if not has_user_schemes(package.contract):
        return None
    from mcpgen.runtime.connect.service import ConnectService

    if store is None:
        from mcpgen.runtime.state.memory_store import MemoryStore

        store = MemoryStore()
    return ConnectService(package.contract, package.environ, store)

"""The dashboard over HTTP on this machine: the page, its data, and the files that it links to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Set
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from mcpgen.factory.dashboard.evidence import list_linked_files
from mcpgen.factory.dashboard.page import make_page
from mcpgen.factory.packages import WorkspaceRefusedError
from mcpgen.factory.status.model import Fleet

DATA_PATH: Final = "/fleet.json"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_IDLE_SECONDS: Final = 30
_PLAIN: Final = "text/plain; charset=utf-8"


class DashboardServer(ThreadingHTTPServer):
    """Serves the fleet that `collect` returns, and files below `root`, on 127.0.0.1.

    The fleet is examined again for each request of the page and of its data.
    """

    daemon_threads = True

    def __init__(self, collect: Callable[[], Fleet], root: Path, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.root = root.resolve()
        self._collect = collect
        self._linked: Set[str] | None = None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the Host header that are answered."""
        return frozenset(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    def examine(self) -> Fleet:
        """Examine the fleet.

        Raises:
            WorkspaceRefusedError: the workspace cannot be used any more.
        """
        fleet = self._collect()
        self._linked = list_linked_files(fleet)
        return fleet

    def read_linked(self, path: str) -> bytes | None:
        """Return the content of a file that the page links to, None for any other path.

        Raises:
            WorkspaceRefusedError: the workspace cannot be used any more.
        """
        linked = list_linked_files(self._collect()) if self._linked is None else self._linked
        if path not in linked:
            return None
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root) or not file.is_file():
            return None
        try:
            return file.read_bytes()
        except OSError:
            return None

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that go away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it was called


class _Handler(BaseHTTPRequestHandler):
    server: DashboardServer
    server_version = "mcpgen"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Answer with the page, its data, or a file that it links to."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            return self._answer(421, _PLAIN, b"this server answers on its own address only\n")
        path = unquote(self.path.partition("?")[0])
        try:
            if path == "/":
                page = make_page(self.server.examine(), "")
                return self._answer(200, "text/html; charset=utf-8", page.encode())
            if path == DATA_PATH:
                data = json.dumps(msgspec.to_builtins(self.server.examine()), indent=2)
                return self._answer(200, "application/json", data.encode())
            content = self.server.read_linked(path.removeprefix("/"))
        except WorkspaceRefusedError:
            return self._answer(500, _PLAIN, b"`mcpgen ws check` says why\n")
        if content is None:
            return self._answer(404, _PLAIN, b"no such page\n")
        return self._answer(200, _PLAIN, content)

    do_HEAD = do_GET  # noqa: N815  (as above)

    def _refuse(self) -> None:
        self.close_connection = True  # a body may follow, which is not read
        self._answer(405, _PLAIN, b"GET and HEAD only\n", {"Allow": "GET, HEAD"})

    do_DELETE = do_OPTIONS = do_PATCH = do_POST = do_PUT = _refuse  # noqa: N815  (as above)

    def _answer(
        self, status: int, content_type: str, body: bytes, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        # The page has a policy of its own.
        policy = "frame-ancestors 'none'"
        if not content_type.startswith("text/html"):
            policy = "default-src 'none'; sandbox; frame-ancestors 'none'"
        headers = {
            **_HEADERS,
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy,
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

"""The command line of a generated server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from mcpgen.runtime.errors import ConfigurationError, UnknownToolsetError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.transports.stdio import DRAIN_TIMEOUT_SECONDS, serve_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from mcpgen.runtime.content import JsonObject

DEFAULT_PORT = 8000
WRONG_USAGE = 2  # as of argparse


def serve(package: str, argv: Sequence[str] | None = None) -> int:
    """Serve the MCP server of a generated package; gives the exit code.

    Over stdio unless `--http` is among the arguments (`sys.argv` without the program's name).
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _open_closed_descriptors()
        loaded = _loaded(package)
        # The usual start has no arguments, and must not pay for parsing nothing.
        options = _parse(loaded, arguments) if arguments else None
        toolsets = options.toolset if options else ""
        toolsets = toolsets or os.environ.get(f"{loaded.contract.get('env_prefix', '')}TOOLSET", "")
        if toolsets.strip():
            loaded.list_toolsets(toolsets.split(","))
        return serve_stdio(loaded) if options is None else _serve_as_asked(loaded, options)
    except UnknownToolsetError as error:
        sys.stderr.write(f"error: {error}\n")
        return WRONG_USAGE
    except ConfigurationError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def _open_closed_descriptors() -> None:
    """Let stdin, stdout and stderr be nothing where whoever started the server closed them.

    Otherwise the next file or socket takes the number, and gets or gives what is not its own.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _loaded(package: str) -> ServerPackage:
    """Load the package; what its modules print meanwhile is no message, and reaches stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return ServerPackage.load(package)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _serve_as_asked(package: ServerPackage, options: Namespace) -> int:
    if options.check_env:
        return _check_environment(package)
    if options.http:
        from mcpgen.runtime.transports.http_server import serve_http

        return serve_http(
            package,
            host=options.host,
            port=options.port,
            with_sse=options.sse,
            drain_timeout_seconds=options.drain_timeout,
            allows_remote=options.allow_remote,
            has_sessions=not options.no_sessions,
            allowed_hosts=options.allowed_host,
            allowed_origins=options.allowed_origin,
        )
    return serve_stdio(package, drain_timeout_seconds=options.drain_timeout)


def _check_environment(package: ServerPackage) -> int:
    """Print each setting and whether it is there; 1 if what calls need is missing or wrong."""
    is_complete = True
    for setting in package.contract.get("environment", ()):
        is_set = bool(os.environ.get(setting["name"]))
        is_required = setting.get("required", False)
        state = "set" if is_set else "missing" if is_required else "not set"
        if is_set and setting.get("part") == "ca_file" and not _holds_certificates(setting["name"]):
            state, is_complete = "no readable file with certificates in PEM", False
        if is_set and (reason := _why_unusable(setting)):
            state, is_complete = reason, False
        is_complete = is_complete and (is_set or not is_required)
        sys.stdout.write(
            f"{setting['name']}: {state}. {setting.get('description', '')}\n".rstrip() + "\n"
        )
    return 0 if is_complete else 1


def _why_unusable(setting: JsonObject) -> str:
    """Return why the value of a setting that requests carry cannot be used; "" if it can."""
    if "schema" not in setting:
        return ""
    from mcpgen.runtime.settings import read_setting

    try:
        read_setting(setting, os.environ)
    except ConfigurationError as error:
        return str(error)
    return ""


def _holds_certificates(setting: str) -> bool:
    from mcpgen.runtime.upstream.trust import Authority

    try:
        Authority(setting, os.environ[setting].strip()).context()
    except ConfigurationError:
        return False
    return True


def _parse(package: ServerPackage, arguments: list[str]) -> Namespace:
    from argparse import ArgumentParser

    program = package.name.removesuffix("_mcp").replace("_", "-") + "-mcp"
    parser = ArgumentParser(
        prog=program,
        description=f"{package.contract.get('title') or package.contract['name']}, as MCP tools: "
        "over stdio, or over HTTP with --http.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"{program} {package.version}")
    add("--http", action="store_true", help="serve Streamable HTTP at /mcp")
    add("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    add("--port", type=int, default=DEFAULT_PORT, help="where to listen (default: %(default)s)")
    add("--sse", action="store_true", help="with --http: the 2024-11-05 transport too, at /sse")
    add(
        "--allow-remote",
        action="store_true",
        help="with --host: let other machines call the tools, with your credentials",
    )
    add(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="with --http: another name in the Host header under which clients reach the server",
    )
    add(
        "--allowed-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="with --http: a web page's origin (https://app.example) that may use the server, also "
        "across origins (CORS); for several, give it several times",
    )
    add(
        "--no-sessions",
        action="store_true",
        help="with --http: keep nothing between requests, so that several processes can share them",
    )
    add(
        "--toolset",
        default="",
        metavar="NAME[,NAME]",
        help="list the tools of these tags or toolsets, and no others; `all` for every tool",
    )
    add("--check-env", action="store_true", help="say which settings are missing, and leave")
    add(
        "--drain-timeout",
        type=float,
        default=DRAIN_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="how long calls may finish after the end (default: %(default)g)",
    )
    options = parser.parse_args(arguments)
    if not options.http and (options.sse or options.host != "127.0.0.1"):
        parser.error("--host and --sse are for --http")
    return options

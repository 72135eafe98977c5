"""The command line of a generated server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from mcpgen.runtime.errors import ConfigurationError, UnknownToolsetError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.transports.stdio import DRAIN_TIMEOUT_SECONDS, serve_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any


DEFAULT_PORT = 8000
REFUSED = 1  # the server does not start as it is configured
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
        if options is not None and options.check_env:
            return _check_environment(loaded, options)
        if _report_problems(loaded.contract):
            return REFUSED
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
        return REFUSED


def _report_problems(contract: dict[str, Any]) -> bool:
    """Report what the server does not start with: extras that are missing, invalid settings.

    Most of what it takes is imported only where there is something to check.
    """
    problems: list[ConfigurationError] = []
    if "extras" in contract:
        from mcpgen.runtime.extras import missing_extras

        problems += missing_extras(contract)
    names = {setting["name"] for setting in contract.get("environment", ())}
    names.add(f"{contract.get('env_prefix', '')}STATE_KEYS")
    if not names.isdisjoint(os.environ):
        from mcpgen.runtime.startup_checks import invalid_settings

        problems += invalid_settings(contract, os.environ)
    for problem in problems:
        sys.stderr.write(f"error: {problem}\n")
    return bool(problems)


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


def _check_environment(package: ServerPackage, options: Namespace) -> int:
    """Print which settings are missing or invalid; return 1 if the server cannot do its work."""
    from dataclasses import replace

    from mcpgen.runtime.check_env import check_environment

    report = check_environment(package, os.environ)
    if options.live and not report.problems:
        from mcpgen.runtime.live_check import check_live

        report = replace(report, live=check_live(package, os.environ))
    if options.json:
        sys.stdout.write(json.dumps(report.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in report.lines()))
    return report.exit_code


def _parse(package: ServerPackage, arguments: list[str]) -> Namespace:
    from argparse import ArgumentParser

    program = package.program
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
    add(
        "--check-env",
        action="store_true",
        help="report which settings are missing or invalid and which tools need them, then exit",
    )
    add(
        "--live",
        action="store_true",
        help="with --check-env: also send one harmless request to the API",
    )
    add("--json", action="store_true", help="with --check-env: print the report as JSON")
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
    if not options.check_env and (options.live or options.json):
        parser.error("--live and --json are for --check-env")
    return options

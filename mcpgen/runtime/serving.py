"""The command line of a generated server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from mcpgen.runtime.errors import ConfigurationError, UsageError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.process.log import log
from mcpgen.runtime.transports.stdio.server import DRAIN_TIMEOUT_SECONDS, serve_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


DEFAULT_PORT = 8000
PRE_STOP_DELAY_SETTING = "PRE_STOP_DELAY_SECONDS"  # after the server's prefix
REFUSED = 1  # the server cannot start on this machine
INVALID = 2  # a setting or an option is invalid; also of argparse
TLS_VARIABLES = ("SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR")  # which OpenSSL and `ssl` read

_HTTP_OPTIONS = (
    "host",
    "port",
    "sse",
    "allow_remote",
    "allowed_host",
    "allowed_origin",
    "no_sessions",
    "pre_stop_delay",
)


def serve(package: str, argv: Sequence[str] | None = None) -> int:
    """Serve the MCP server of a generated package; return the exit code.

    Over stdio unless `--http` is among the arguments (`sys.argv` without the program's name).
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _open_closed_descriptors()
        loaded = _load(package)
        # The usual start has no arguments, and must not pay for parsing nothing.
        options = _parse(loaded, arguments) if arguments else None
        if options is not None and options.check_env:
            return _check_environment(loaded, options)
        problems = _find_problems(loaded, options.toolset if options else "")
        if options is not None and options.http:
            problems += _check_keys(loaded, is_shared=options.no_sessions)
        if problems:
            return _refuse(problems)
        return serve_stdio(loaded) if options is None else _serve_as_asked(loaded, options)
    except ConfigurationError as error:
        return _refuse([error])


def _find_problems(package: ServerPackage, toolsets: str) -> list[ConfigurationError]:
    """Return why the server does not start: missing extras, invalid settings, unknown toolsets."""
    # Modules are imported only if there is something to check.
    contract = package.contract
    prefix = contract.get("env_prefix", "")
    problems: list[ConfigurationError] = []
    if "extras" in contract:
        from mcpgen.contract.extras import find_missing_extras

        problems += find_missing_extras(contract)
    names = {setting["name"] for setting in contract.get("environment", ())}
    names |= {f"{prefix}STATE_KEYS", f"{prefix}{PRE_STOP_DELAY_SETTING}"}
    if not os.environ.keys().isdisjoint(TLS_VARIABLES):
        from mcpgen.runtime.startup.tls_environment import find_invalid_tls_settings

        problems += find_invalid_tls_settings(os.environ)
    if not names.isdisjoint(os.environ):
        from mcpgen.runtime.startup.startup_checks import find_invalid_settings

        problems += find_invalid_settings(contract, os.environ)
    toolsets = toolsets or os.environ.get(f"{prefix}TOOLSET", "")
    if toolsets.strip():
        try:
            package.list_toolsets(toolsets.split(","))
        except UsageError as error:
            problems.append(error)
    return problems


def _check_keys(package: ServerPackage, *, is_shared: bool) -> list[ConfigurationError]:
    """Check the keys of request state: log a notice, or return why the server does not start."""
    from mcpgen.runtime.state.keys import check_shared_keys

    try:
        if notice := check_shared_keys(package, os.environ, is_shared=is_shared):
            log("warning", notice)
    except ConfigurationError as error:
        return [error]
    return []


def _refuse(problems: Sequence[ConfigurationError]) -> int:
    """Report why the server does not start; return the exit code."""
    for problem in problems:
        log("error", str(problem))
    is_invalid = any(problem.setting or isinstance(problem, UsageError) for problem in problems)
    return INVALID if is_invalid else REFUSED


def _open_closed_descriptors() -> None:
    """Open closed standard streams on the null device, so that no other file gets their numbers."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _load(package: str) -> ServerPackage:
    """Load the package; redirect to stderr what its modules print."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return ServerPackage.load(package)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _serve_as_asked(package: ServerPackage, options: Namespace) -> int:
    if options.http:
        from mcpgen.runtime.transports.http.server import serve_http

        return serve_http(
            package,
            host=options.host,
            port=options.port,
            with_sse=options.sse,
            drain_timeout_seconds=options.drain_timeout,
            pre_stop_delay_seconds=_read_pre_stop_delay(package, options),
            allows_remote=options.allow_remote,
            has_sessions=not options.no_sessions,
            allowed_hosts=options.allowed_host,
            allowed_origins=options.allowed_origin,
        )
    return serve_stdio(package, drain_timeout_seconds=options.drain_timeout)


def _read_pre_stop_delay(package: ServerPackage, options: Namespace) -> float:
    from mcpgen.runtime.startup.option_values import read_seconds_setting

    if options.pre_stop_delay is not None:
        return float(options.pre_stop_delay)
    prefix = package.contract.get("env_prefix", "")
    return read_seconds_setting(f"{prefix}{PRE_STOP_DELAY_SETTING}", os.environ)


def _check_environment(package: ServerPackage, options: Namespace) -> int:
    """Print which settings are missing or invalid; return 1 if the server cannot do its work."""
    from dataclasses import replace

    from mcpgen.runtime.startup.check_env import check_environment

    report = check_environment(package, os.environ, is_shared=options.http and options.no_sessions)
    if options.live and not report.problems:
        from mcpgen.runtime.startup.live_check import check_live

        report = replace(report, live=check_live(package, os.environ))
    if options.json:
        sys.stdout.write(json.dumps(report.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in report.to_lines()))
    return report.exit_code


def _parse(package: ServerPackage, arguments: list[str]) -> Namespace:
    from argparse import ArgumentParser
    from functools import partial

    from mcpgen.runtime.startup.option_values import (
        parse_allowed_host,
        parse_allowed_origin,
        parse_host,
        parse_port,
        parse_seconds,
    )

    program = package.program
    parser = ArgumentParser(
        prog=program,
        description=f"{package.contract.get('title') or package.contract['name']}, as MCP tools: "
        "over stdio, or over HTTP with --http.",
    )
    add = parser.add_argument
    flag = partial(add, action="store_true")
    add("--version", action="version", version=f"{program} {package.version}")
    flag("--http", help="serve Streamable HTTP at /mcp")
    add(
        "--host",
        type=parse_host,
        default="127.0.0.1",
        help="where to listen (default: %(default)s)",
    )
    add(
        "--port",
        type=parse_port,
        default=DEFAULT_PORT,
        help="where to listen; 0 takes a free one (default: %(default)s)",
    )
    flag("--sse", help="with --http: the 2024-11-05 transport too, at /sse")
    flag(
        "--allow-remote",
        help="with --host: let other machines call the tools, with your credentials",
    )
    add(
        "--allowed-host",
        type=parse_allowed_host,
        action="append",
        default=[],
        metavar="NAME",
        help="with --http: another name in the Host header under which clients reach the server",
    )
    add(
        "--allowed-origin",
        type=parse_allowed_origin,
        action="append",
        default=[],
        metavar="ORIGIN",
        help="with --http: a web page's origin (https://app.example) that may use the server, also "
        "across origins (CORS); for several, give it several times",
    )
    flag(
        "--no-sessions",
        help="with --http: keep nothing between requests, so that several processes can share them",
    )
    add(
        "--toolset",
        default="",
        metavar="NAME[,NAME]",
        help="list the tools of these tags or toolsets, and no others; `all` for every tool",
    )
    flag(
        "--check-env",
        help="report which settings are missing or invalid and which tools need them, then exit",
    )
    flag("--live", help="with --check-env: also send one harmless request to the API")
    flag("--json", help="with --check-env: print the report as JSON")
    add(
        "--drain-timeout",
        type=parse_seconds,
        default=DRAIN_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="how long calls may finish after the end (default: %(default)g)",
    )
    add(
        "--pre-stop-delay",
        type=parse_seconds,
        metavar="SECONDS",
        help="with --http: how long to serve on after SIGTERM while /health returns 503, so that "
        "load balancers send no more requests (default: 0)",
    )
    options = parser.parse_args(arguments)
    if not options.http:
        ignored = [it for it in _HTTP_OPTIONS if getattr(options, it) != parser.get_default(it)]
        if ignored:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in ignored)
            parser.error(f"{names} {'requires' if len(ignored) == 1 else 'require'} --http")
    if not options.check_env and (options.live or options.json):
        parser.error("--live and --json are for --check-env")
    return options

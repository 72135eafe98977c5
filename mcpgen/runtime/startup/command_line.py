"""Options and commands of a generated server."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from mcpgen.contract.server_settings import BY_NAME
from mcpgen.runtime.errors import UsageError
from mcpgen.runtime.startup.option_values import (
    DEFAULT_PORT,
    parse_allowed_host,
    parse_allowed_origin,
    parse_host,
    parse_port,
    parse_seconds,
    parse_workers,
)

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

_LOGIN_COMMANDS: Final = ("login", "logout")
_HTTP_OPTIONS: Final = (
    "host",
    "port",
    "sse",
    "allow_remote",
    "allowed_host",
    "allowed_origin",
    "no_sessions",
    "pre_stop_delay",
    "workers",
    "tls_cert",
    "tls_key",
    "server_card",
)


def run_command(package: ServerPackage, arguments: Sequence[str]) -> int | None:
    """Run the command that the first argument names; None if it is an option of the server.

    Raises:
        UsageError: the arguments of the command are invalid.
    """
    if arguments[0] in _LOGIN_COMMANDS:
        from mcpgen.runtime.login.commands import run_command as run_login_command

        return run_login_command(package, arguments, package.environ)
    if arguments[0] == "token":
        return _print_new_token(package, arguments[1:])
    return None


def _print_new_token(package: ServerPackage, arguments: Sequence[str]) -> int:
    """Print a new static token and the line that makes it valid (`token NAME [SCOPE…]`)."""
    from mcpgen.runtime.auth.static_tokens import make_token

    name, *scopes = arguments or [""]
    try:
        token, line = make_token(name, scopes)
    except ValueError as error:
        raise UsageError(f"{package.program} token NAME [SCOPE…]: {error}") from None
    setting = f"{package.contract.get('env_prefix', '')}AUTH_TOKENS_FILE"
    sys.stdout.write(
        f"Token of {name}, which is not shown again:\n{token}\n\n"
        f"Add this line to the file that {setting} names:\n{line}\n"
    )
    return 0


def parse_options(package: ServerPackage, arguments: Sequence[str]) -> Namespace:
    """Parse the options; print the problem or the help and exit, as argparse does.

    Raises:
        SystemExit: after `--help` or `--version` (0), or for invalid options (2).
    """
    parser = _make_parser(package)
    if not {"-h", "--help"}.isdisjoint(arguments):
        from mcpgen.runtime.startup.settings_help import format_commands, format_settings

        lines = [*format_commands(package.contract), "", *format_settings(package.contract)]
        parser.epilog = "\n".join(lines)
    options = parser.parse_args(arguments)
    if not options.http:
        ignored = [it for it in _HTTP_OPTIONS if getattr(options, it) != parser.get_default(it)]
        if ignored:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in ignored)
            parser.error(f"{names} {'requires' if len(ignored) == 1 else 'require'} --http")
    if not options.check_env and (options.live or options.json):
        parser.error("--live and --json are for --check-env")
    return options


def _make_parser(package: ServerPackage) -> ArgumentParser:
    program = package.program
    parser = ArgumentParser(
        prog=program,
        description=f"{package.contract.get('title') or package.contract['name']}, as MCP tools: "
        "over stdio, or over HTTP with --http.",
        formatter_class=RawDescriptionHelpFormatter,
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
        type=_limit(parse_seconds, "DRAIN_TIMEOUT_SECONDS"),
        metavar="SECONDS",
        help="how long calls may finish after the end (default: "
        f"{_find_default(package, 'DRAIN_TIMEOUT_SECONDS')})",
    )
    add(
        "--pre-stop-delay",
        type=_limit(parse_seconds, "PRE_STOP_DELAY_SECONDS"),
        metavar="SECONDS",
        help="with --http: how long to serve on after SIGTERM while /readyz returns 503, so that "
        f"load balancers send no more requests (default: "
        f"{_find_default(package, 'PRE_STOP_DELAY_SECONDS')})",
    )
    add(
        "--workers",
        type=_limit(parse_workers, "WORKERS"),
        metavar="N",
        help="with --http: serve with N processes, which share the store of STATE_URL or nothing "
        f"(--no-sessions) (default: {_find_default(package, 'WORKERS')})",
    )
    add(
        "--tls-cert",
        default="",
        metavar="FILE",
        help="with --http: serve HTTPS with this certificate chain (PEM), read again on change",
    )
    add("--tls-key", default="", metavar="FILE", help="with --tls-cert: the key (PEM)")
    flag(
        "--server-card",
        help="with --http: describe the server to anyone at /mcp/server-card (draft of MCP)",
    )
    return parser


def print_environment(package: ServerPackage, options: Namespace) -> int:
    """Print which settings are missing or invalid; return 1 if the server cannot do its work."""
    from mcpgen.runtime.startup.check_env import check_environment
    from mcpgen.runtime.startup.http_start import read_workers

    is_shared = options.http and (
        options.no_sessions
        or (options.workers or read_workers(package)) > 1
        or package.has_shared_store
    )
    report = check_environment(package, os.environ, is_shared=is_shared, is_http=options.http)
    if options.live and not report.problems:
        from mcpgen.runtime.startup.live_check import check_live

        report = replace(report, live=check_live(package, package.environ))
    if options.json:
        sys.stdout.write(json.dumps(report.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in report.to_lines()))
    return report.exit_code


def _limit(parse: Callable[..., float], name: str) -> Callable[[str], float]:
    """Return a parser with the upper bound of the setting that an option has."""
    return partial(parse, maximum=BY_NAME[name].maximum)


def _find_default(package: ServerPackage, name: str) -> str:
    """Return the text of `--help` about an option that has a setting: its name and default."""
    default = package.contract.get("limits", {}).get(BY_NAME[name].limit, BY_NAME[name].default)
    return f"{package.contract.get('env_prefix', '')}{name}, else {default}"

"""The command line of a generated server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from mcpgen.runtime.errors import ConfigurationError, UsageError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.process.log import log
from mcpgen.runtime.transports.stdio.server import serve_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import Any

    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.transports.http.tls import Certificate


DEFAULT_PORT = 8000
REFUSED = 1  # the server cannot start on this machine
INVALID = 2  # a setting or an option is invalid; also of argparse
PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
TLS_VARIABLES = ("SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR")  # which OpenSSL and `ssl` read

_LOGIN_COMMANDS = ("login", "logout")
_HTTP_OPTIONS = (
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
)


def serve(package: str, argv: Sequence[str] | None = None) -> int:
    """Serve the MCP server of a generated package; return the exit code.

    Over stdio unless `--http` is among the arguments (`sys.argv` without the program's name).
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _open_closed_descriptors()
        loaded = _load(package)
        if arguments and arguments[0] in _LOGIN_COMMANDS:
            from mcpgen.runtime.login.commands import run_command

            return run_command(loaded, arguments, loaded.environ)
        if arguments and arguments[0] == "token":
            return _print_new_token(loaded, arguments[1:])
        # The usual start has no arguments, and must not pay for parsing nothing.
        options = _parse(loaded, arguments) if arguments else None
        if options is not None and options.check_env:
            return _check_environment(loaded, options)
        problems = find_problems(loaded, options.toolset if options else "")
        if options is not None and options.http:
            problems += _check_sharing(loaded, options)
            problems += check_authorization(loaded)
            problems += check_connect(loaded)
        if problems:
            return _refuse(problems)
        if has_telemetry(loaded):
            from mcpgen.runtime.telemetry.setup import apply_log_style

            apply_log_style(loaded)
        if options is not None and options.http:
            return _serve_http(loaded, options)
        seconds = None if options is None else _read_drain_timeout(loaded, options)
        return _serve_observed(serve_stdio, loaded, drain_timeout_seconds=seconds)
    except ConfigurationError as error:
        return _refuse([error])


def has_telemetry(package: ServerPackage) -> bool:
    """Return whether a variable of logs and telemetry is set."""
    prefix = package.contract.get("env_prefix", "")
    names = (f"{prefix}LOG_LEVEL", f"{prefix}LOG_FORMAT", f"{prefix}AUDIT_FILE")
    return any(name in names or name.startswith("OTEL_") for name in package.environ)


def _serve_observed(serve: Callable[..., int], package: ServerPackage, **options: Any) -> int:
    """Serve with the telemetry and the audit file that the environment configures."""
    if not has_telemetry(package):
        return serve(package, **options)
    from mcpgen.runtime.telemetry.setup import start_observing

    stop = start_observing(package, is_http=serve is not serve_stdio)
    try:
        return serve(package, **options)
    finally:
        stop()


def find_problems(package: ServerPackage, toolsets: str) -> list[ConfigurationError]:
    """Return why the server does not start: missing extras, invalid settings, unknown toolsets."""
    # Modules are imported only if there is something to check.
    contract, environ = package.contract, package.environ
    prefix = contract.get("env_prefix", "")
    problems: list[ConfigurationError] = list(package.environment.problems)
    if "extras" in contract:
        from mcpgen.contract.extras import find_missing_extras

        problems += find_missing_extras(contract)
    if "credentials" in contract:
        from mcpgen.runtime.startup.caller_credentials import find_forwarded_tokens

        problems += find_forwarded_tokens(contract, environ)
    names = {setting["name"] for setting in contract.get("environment", ())}
    if not os.environ.keys().isdisjoint(TLS_VARIABLES):
        from mcpgen.runtime.startup.tls_environment import find_invalid_tls_settings

        problems += find_invalid_tls_settings(os.environ)
    if f"{prefix}CA_FILE" in names and not environ.keys().isdisjoint(PROXY_VARIABLES):
        problems += _find_invalid_proxies(package)
    has_others = prefix and any(it.startswith(prefix) and it not in names for it in environ)
    if has_others or not names.isdisjoint(environ):
        from mcpgen.runtime.startup.startup_checks import find_invalid_settings

        problems += find_invalid_settings(contract, environ)
    if has_others:
        from mcpgen.runtime.startup.server_settings import find_misspelt

        for warning in find_misspelt(contract, environ):
            log("warning", warning)
    toolsets = toolsets or environ.get(f"{prefix}TOOLSET", "")
    if toolsets.strip():
        try:
            package.list_toolsets(toolsets.split(","))
        except UsageError as error:
            problems.append(error)
    return list({str(problem): problem for problem in problems}.values())


def _find_invalid_proxies(package: ServerPackage) -> list[ConfigurationError]:
    from mcpgen.runtime.upstream.http.proxies import read_proxies

    try:
        read_proxies(package.contract, package.environ)
    except ConfigurationError as error:
        return [error]
    return []


def check_keys(package: ServerPackage, *, is_shared: bool) -> list[ConfigurationError]:
    """Check the keys of request state: log a notice, or return why the server does not start."""
    from mcpgen.runtime.state.keys import check_shared_keys

    try:
        if notice := check_shared_keys(package, package.environ, is_shared=is_shared):
            log("warning", notice)
    except ConfigurationError as error:
        return [error]
    return []


def check_authorization(package: ServerPackage) -> list[ConfigurationError]:
    """Return what is wrong with the settings of authorization, if any of them is set."""
    if not _has_authorization(package):
        return []
    from mcpgen.runtime.startup.authorization import find_authorization_problems

    return find_authorization_problems(package.contract, package.environ)


def _has_authorization(package: ServerPackage) -> bool:
    prefix = f"{package.contract.get('env_prefix', '')}AUTH_"
    return any(name.startswith(prefix) for name in package.environ)


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


def _check_sharing(package: ServerPackage, options: Namespace) -> list[ConfigurationError]:
    """Check that processes that serve the same clients share what they need."""
    is_shared_state = package.has_shared_store
    if (options.workers or _read_workers(package)) == 1:
        return check_keys(package, is_shared=options.no_sessions or is_shared_state)
    from mcpgen.runtime.transports.http.workers import find_worker_problems

    prefix = package.contract.get("env_prefix", "")
    has_sessions = bool(package.definition.legacy) and not options.no_sessions
    return find_worker_problems(
        prefix, package.environ, is_shared_state=is_shared_state, has_sessions=has_sessions
    )


def _read_workers(package: ServerPackage) -> int:
    from mcpgen.runtime.startup.server_settings import ServerSettings

    return int(ServerSettings.from_contract(package.contract, package.environ).get("WORKERS"))


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


def _serve_http(package: ServerPackage, options: Namespace) -> int:
    """Serve over HTTP, in this process or in workers."""
    from functools import partial

    from mcpgen.runtime.startup.http_settings import read_access_settings
    from mcpgen.runtime.transports.http.host_check import is_loopback
    from mcpgen.runtime.transports.http.server import serve_http

    access = read_access_settings(package.contract.get("env_prefix", ""), package.environ)
    serve_all: Callable[..., int] = partial(_serve_observed, serve_http)
    workers = options.workers or _read_workers(package)
    if workers > 1:
        from mcpgen.runtime.transports.http.workers import serve_with_workers

        # Telemetry starts threads, so each worker starts its own.
        serve_all = partial(serve_with_workers, serve_all, count=workers)
    return serve_all(
        package,
        host=options.host,
        port=options.port,
        with_sse=options.sse,
        drain_timeout_seconds=_read_drain_timeout(package, options),
        pre_stop_delay_seconds=_read_pre_stop_delay(package, options),
        allows_remote=options.allow_remote or access.allows_remote,
        has_sessions=not options.no_sessions,
        allowed_hosts=[*options.allowed_host, *access.allowed_hosts],
        allowed_origins=[*options.allowed_origin, *access.allowed_origins],
        certificate=_load_certificate(package, options),
        authorization=load_authorization(
            package, is_local=is_loopback(options.host) and not options.allowed_host
        ),
    )


def _read_drain_timeout(package: ServerPackage, options: Namespace) -> float:
    given: float | None = options.drain_timeout
    return package.limits.drain_timeout_seconds if given is None else given


def check_connect(package: ServerPackage) -> list[ConfigurationError]:
    """Return what is missing so that users can connect accounts, if they have to."""
    if "credentials" not in package.contract:
        return []
    from mcpgen.runtime.startup.connecting import find_connect_problems

    return find_connect_problems(package.contract, package.environ)


def load_authorization(package: ServerPackage, *, is_local: bool) -> HttpAuthorization | None:
    """Return the authorization that the settings define; None if there is none.

    `is_local` states that only this machine can reach the server.

    Raises:
        ConfigurationError: a setting is missing or invalid.
    """
    if not _has_authorization(package):
        if "authorization" in package.contract:
            log("warning", "the scopes of mcpgen.yaml are not checked without AUTH_ISSUER")
        return None
    from mcpgen.runtime.startup.authorization import make_authorization

    return make_authorization(
        package.contract, package.environ, declared=package.declared, is_local=is_local
    )


def _load_certificate(package: ServerPackage, options: Namespace) -> Certificate | None:
    """Load the certificate that the options or the settings name; None if there is none."""
    prefix = package.contract.get("env_prefix", "")
    certificate, key = (
        getattr(options, name.lower()) or package.environ.get(prefix + name, "").strip()
        for name in ("TLS_CERT", "TLS_KEY")
    )
    if not certificate and not key:
        return None
    if not certificate or not key:
        missing, given = ("TLS_KEY", "TLS_CERT") if certificate else ("TLS_CERT", "TLS_KEY")
        name = prefix + missing
        raise ConfigurationError(f"missing {name}: {prefix}{given} is set", setting=name)
    from mcpgen.runtime.transports.http.tls import Certificate

    return Certificate(certificate, key, prefix=prefix)


def _read_pre_stop_delay(package: ServerPackage, options: Namespace) -> float:
    from mcpgen.runtime.startup.server_settings import ServerSettings

    if options.pre_stop_delay is not None:
        return float(options.pre_stop_delay)
    settings = ServerSettings.from_contract(package.contract, package.environ)
    return float(settings.get("PRE_STOP_DELAY_SECONDS"))


def _check_environment(package: ServerPackage, options: Namespace) -> int:
    """Print which settings are missing or invalid; return 1 if the server cannot do its work."""
    from dataclasses import replace

    from mcpgen.runtime.startup.check_env import check_environment

    is_shared = options.http and (
        options.no_sessions
        or (options.workers or _read_workers(package)) > 1
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


def _find_default(package: ServerPackage, name: str) -> str:
    """Return what `--help` says of an option that has a setting: its name and default."""
    from mcpgen.contract.server_settings import BY_NAME

    default = package.contract.get("limits", {}).get(BY_NAME[name].limit, BY_NAME[name].default)
    return f"{package.contract.get('env_prefix', '')}{name}, else {default}"


def _parse(package: ServerPackage, arguments: list[str]) -> Namespace:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter
    from functools import partial

    from mcpgen.runtime.startup.option_values import (
        parse_allowed_host,
        parse_allowed_origin,
        parse_host,
        parse_port,
        parse_seconds,
        parse_workers,
    )

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
        type=parse_seconds,
        metavar="SECONDS",
        help="how long calls may finish after the end (default: "
        f"{_find_default(package, 'DRAIN_TIMEOUT_SECONDS')})",
    )
    add(
        "--pre-stop-delay",
        type=parse_seconds,
        metavar="SECONDS",
        help="with --http: how long to serve on after SIGTERM while /readyz returns 503, so that "
        f"load balancers send no more requests (default: "
        f"{_find_default(package, 'PRE_STOP_DELAY_SECONDS')})",
    )
    add(
        "--workers",
        type=parse_workers,
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

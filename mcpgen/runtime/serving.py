"""The start of a generated server, over stdio or over HTTP."""

from __future__ import annotations

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

    from mcpgen.runtime.content import JsonObject

REFUSED = 1  # the server cannot start on this machine
INVALID = 2  # a setting or an option is invalid; also of argparse
PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
TLS_VARIABLES = ("SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR")  # which OpenSSL and `ssl` read


def serve(
    package: str,
    argv: Sequence[str] | None = None,
    *,
    adapt_contract: Callable[[JsonObject], None] | None = None,
) -> int:
    """Serve the MCP server of a generated package; return the exit code.

    Over stdio unless `--http` is among the arguments (`sys.argv` without the program's name).
    `adapt_contract` changes the contract before it is used, for tests.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _open_closed_descriptors()
        loaded = _load(package)
        if adapt_contract is not None:
            adapt_contract(loaded.contract)
        if not arguments:  # the usual start, which must not pay for parsing nothing
            return _serve_over_stdio(loaded, "", None)
        from mcpgen.runtime.startup.command_line import (
            parse_options,
            print_environment,
            run_command,
        )

        exit_code = run_command(loaded, arguments)
        if exit_code is not None:
            return exit_code
        options = parse_options(loaded, arguments)
        if options.check_env:
            return print_environment(loaded, options)
        if options.http:
            return _serve_over_http(loaded, options)
        return _serve_over_stdio(loaded, options.toolset, options.drain_timeout)
    except ConfigurationError as error:
        return _refuse([error])


def _serve_over_stdio(
    package: ServerPackage, toolsets: str, drain_timeout_seconds: float | None
) -> int:
    if problems := find_problems(package, toolsets):
        return _refuse(problems)
    return _serve_with_telemetry(serve_stdio, package, drain_timeout_seconds=drain_timeout_seconds)


def _serve_over_http(package: ServerPackage, options: Namespace) -> int:
    from mcpgen.runtime.startup.http_start import find_http_problems, serve_as_configured

    problems = find_problems(package, options.toolset) + find_http_problems(package, options)
    if problems:
        return _refuse(problems)
    if has_telemetry(package):
        from mcpgen.runtime.telemetry.setup import apply_log_style

        apply_log_style(package)  # in the process that starts workers, too
    return serve_as_configured(package, options, _serve_with_telemetry)


def has_telemetry(package: ServerPackage) -> bool:
    """Return whether a variable of logs and telemetry is set."""
    prefix = package.contract.get("env_prefix", "")
    names = (f"{prefix}LOG_LEVEL", f"{prefix}LOG_FORMAT", f"{prefix}AUDIT_FILE")
    return any(name in names or name.startswith("OTEL_") for name in package.variables)


def _serve_with_telemetry(serve: Callable[..., int], package: ServerPackage, **options: Any) -> int:
    """Serve with the telemetry and the audit file that the environment configures."""
    if not has_telemetry(package):
        return serve(package, **options)
    from mcpgen.runtime.telemetry.setup import apply_log_style, start_observing

    apply_log_style(package)
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
    problems: list[ConfigurationError] = list(package.secret_file_problems)
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
    has_others = prefix and any(
        it.startswith(prefix) and it not in names for it in package.variables
    )
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

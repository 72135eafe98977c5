"""The start of a server over HTTP: its checks, and what options and settings configure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.startup.server_settings import ServerSettings
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.transports.http.server_card import ServerCard
    from mcpgen.runtime.transports.http.tls import Certificate


def find_http_problems(package: ServerPackage, options: Namespace) -> list[ConfigurationError]:
    """Return why the server does not start over HTTP, beyond what `find_problems` finds."""
    problems = _check_sharing(package, options)
    problems += check_authorization(package)
    problems += check_connect(package)
    return problems + _check_card(package, options)


def serve_as_configured(
    package: ServerPackage, options: Namespace, serve_with_telemetry: Callable[..., int]
) -> int:
    """Serve over HTTP until the server is stopped, in this process or in workers.

    Raises:
        ConfigurationError: a setting is invalid, or the server cannot listen.
    """
    from mcpgen.runtime.startup.http_settings import read_access_settings
    from mcpgen.runtime.transports.http.host_check import is_loopback
    from mcpgen.runtime.transports.http.server import serve_http

    access = read_access_settings(package.contract.get("env_prefix", ""), package.environ)
    serve_all: Callable[..., int] = partial(serve_with_telemetry, serve_http)
    workers = options.workers or read_workers(package)
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
        card=load_card(
            package, is_wanted=options.server_card, is_secure=_has_tls(package, options)
        ),
        authorization=load_authorization(
            package, is_local=is_loopback(options.host) and not options.allowed_host
        ),
    )


def check_keys(package: ServerPackage, *, is_shared: bool) -> list[ConfigurationError]:
    """Check the keys of request state: log a notice, or return why the server does not start."""
    from mcpgen.runtime.state.keys import check_shared_keys

    if is_shared and "handles" in package.contract and not package.has_shared_store:
        setting = f"{package.contract.get('env_prefix', '')}STATE_URL"
        log(
            "warning",
            f"{setting} is not set: a long result can only be read from the process that stored"
            " it; set it where several processes serve",
        )
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


def _check_sharing(package: ServerPackage, options: Namespace) -> list[ConfigurationError]:
    """Check that processes that serve the same clients share what they need."""
    is_shared_state = package.has_shared_store
    if (options.workers or read_workers(package)) == 1:
        return check_keys(package, is_shared=options.no_sessions or is_shared_state)
    from mcpgen.runtime.transports.http.workers import find_worker_problems

    prefix = package.contract.get("env_prefix", "")
    has_sessions = bool(package.definition.legacy) and not options.no_sessions
    return find_worker_problems(
        prefix, package.environ, is_shared_state=is_shared_state, has_sessions=has_sessions
    )


def read_workers(package: ServerPackage) -> int:
    """Return the number of processes that the settings ask for."""
    return int(_read_settings(package).get("WORKERS"))


def _read_drain_timeout(package: ServerPackage, options: Namespace) -> float:
    timeout_seconds: float | None = options.drain_timeout
    return package.limits.drain_timeout_seconds if timeout_seconds is None else timeout_seconds


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


def load_card(
    package: ServerPackage, *, is_wanted: bool = False, is_secure: bool = False
) -> ServerCard | None:
    """Return the server card, if it `is_wanted` or the settings ask for it.

    `is_secure` states that the server serves HTTPS itself.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    settings = _read_settings(package)
    if not is_wanted and not settings.get("SERVER_CARD"):
        return None
    from mcpgen.runtime.transports.http.server_card import ServerCard

    return ServerCard(
        package.definition,
        public_url=settings.get("PUBLIC_URL") or "",
        scheme="https" if is_secure else "http",
        header_names=package.caller_headers or (),
    )


def _check_card(package: ServerPackage, options: Namespace) -> list[ConfigurationError]:
    """Return why the card cannot state the URL of the server, if there is a card."""
    from mcpgen.runtime.transports.http.host_check import is_loopback

    settings = _read_settings(package)
    try:
        is_wanted = options.server_card or settings.get("SERVER_CARD")
        if not is_wanted or is_loopback(options.host) or settings.get("PUBLIC_URL"):
            return []
    except ConfigurationError as error:
        return [error]
    name = f"{package.contract.get('env_prefix', '')}PUBLIC_URL"
    why = "the server card states the URL of the server"
    return [ConfigurationError(f"missing {name}: {why}", setting=name)]


def _read_settings(package: ServerPackage) -> ServerSettings:
    from mcpgen.runtime.startup.server_settings import ServerSettings

    return ServerSettings.from_contract(package.contract, package.environ)


def _has_tls(package: ServerPackage, options: Namespace) -> bool:
    prefix = package.contract.get("env_prefix", "")
    return bool(options.tls_cert or package.environ.get(f"{prefix}TLS_CERT", "").strip())


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
        missing, present = ("TLS_KEY", "TLS_CERT") if certificate else ("TLS_CERT", "TLS_KEY")
        name = prefix + missing
        raise ConfigurationError(f"missing {name}: {prefix}{present} is set", setting=name)
    from mcpgen.runtime.transports.http.tls import Certificate

    return Certificate(certificate, key, prefix=prefix)


def _read_pre_stop_delay(package: ServerPackage, options: Namespace) -> float:
    if options.pre_stop_delay is not None:
        return float(options.pre_stop_delay)
    return float(_read_settings(package).get("PRE_STOP_DELAY_SECONDS"))

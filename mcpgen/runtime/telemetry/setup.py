"""Choice of what is observed, from the settings and the standard variables of OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.runtime.process.log import log, set_log_style
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.transports.shutdown import last_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.telemetry.metrics import Metrics
    from mcpgen.runtime.telemetry.observer import RequestObserver
    from mcpgen.runtime.telemetry.spans import Spans

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PIPE: Final = (("network.transport", "pipe"),)
_HTTP: Final = (
    ("network.transport", "tcp"),
    ("network.protocol.name", "http"),
    ("network.protocol.version", "1.1"),
)


def apply_log_style(package: ServerPackage) -> None:
    """Log from now on at the level and in the format of the settings.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    settings = ServerSettings.from_contract(package.contract, package.environ)
    set_log_style(settings.get("LOG_LEVEL") or "info", settings.get("LOG_FORMAT"))


def start_observing(package: ServerPackage, *, is_http: bool) -> Callable[[], None]:
    """Observe the requests of the package's servers in this process; return what ends that.

    It starts threads, so a process that forks must not call it before. The end takes a bounded
    time, in which what is left is exported.

    Raises:
        ConfigurationError: as `make_observer`.
    """
    observer = make_observer(package, package.environ, is_http=is_http)
    if observer is None:
        return lambda: None
    package.definition = package.definition.replace(observer=observer)
    last_steps.append(observer.close)

    def stop() -> None:
        last_steps.remove(observer.close)
        observer.close()

    return stop


def make_observer(
    package: ServerPackage, environ: Mapping[str, str], *, is_http: bool
) -> RequestObserver | None:
    """Return the observer that the environment configures; None if it configures none.

    Raises:
        ConfigurationError: a setting is invalid, or the audit file cannot be written.
    """
    prefix = package.contract.get("env_prefix", "")
    settings = ServerSettings.from_contract(package.contract, environ)
    logs_calls = settings.get("LOG_LEVEL") in {"debug", "info"}
    audit_path = settings.get("AUDIT_FILE")
    signals = find_signals(environ)
    if signals and not is_installed("otel"):
        missing = MissingExtraError("otel")
        log("warning", f"OTEL_* variables are set, but nothing is exported: {missing}")
        signals = ()
    if not (signals or logs_calls or audit_path):
        return None
    from mcpgen.runtime.telemetry.listing import list_tool_facts
    from mcpgen.runtime.telemetry.observer import RequestObserver

    audit = None
    if audit_path:
        from mcpgen.runtime.telemetry.audit import AuditFile

        keys = environ.get(f"{prefix}STATE_KEYS", "")
        audit = AuditFile(audit_path, keys, setting=f"{prefix}AUDIT_FILE")
    spans, metrics = _start_export(package, signals)
    captures = environ.get(_CONTENT, "").strip().lower()
    return RequestObserver(
        list_tool_facts(package),
        package.definition.prompts.items if package.definition.prompts is not None else (),
        spans=spans,
        metrics=metrics,
        audit=audit,
        logs_calls=logs_calls,
        captures_content=captures in {"true", "span_only", "span_and_event"},
        transport=_HTTP if is_http else _PIPE,
    )


def find_signals(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return which of "traces" and "metrics" the `OTEL_*` variables turn on."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    return tuple(
        signal for signal in ("traces", "metrics") if _is_on(signal, environ, signal.upper())
    )


def _is_on(signal: str, environ: Mapping[str, str], name: str) -> bool:
    exporter = environ.get(f"OTEL_{name}_EXPORTER", "").strip().lower()
    if exporter not in {"", "otlp", "none"}:
        log("warning", f"OTEL_{name}_EXPORTER: only otlp is supported; no {signal} are exported")
    endpoints = (_ENDPOINT, f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT")
    has_endpoint = any(environ.get(it, "").strip() for it in endpoints)
    is_on = exporter == "otlp" or (not exporter and has_endpoint)
    protocols = ("OTEL_EXPORTER_OTLP_PROTOCOL", f"OTEL_EXPORTER_OTLP_{name}_PROTOCOL")
    for protocol in protocols:
        if is_on and environ.get(protocol, "").strip().lower() not in {"", "http/protobuf"}:
            log("warning", f"{protocol}: only http/protobuf is supported, and is used")
    return is_on


def _start_export(
    package: ServerPackage, signals: tuple[str, ...]
) -> tuple[Spans | None, Metrics | None]:
    """Start the exporters of these signals."""
    if not signals:
        return None, None
    import os

    from opentelemetry.sdk.resources import Resource

    attributes = {"service.version": package.version}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        if "service.name" not in named:
            attributes["service.name"] = str(package.definition.info["name"])
    resource = Resource.create(attributes)
    spans, metrics = None, None
    if "traces" in signals:
        from mcpgen.runtime.telemetry.spans import Spans

        spans = Spans(resource)
    if "metrics" in signals:
        from mcpgen.runtime.telemetry.metrics import Metrics

        metrics = Metrics(resource)
        metrics.start()
    return spans, metrics

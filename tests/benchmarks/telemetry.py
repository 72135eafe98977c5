"""Compare the cost of a call with and without OpenTelemetry, in instructions of the server.

`make bench-telemetry` runs it, for ten minutes or so. A collector on loopback receives and drops
what the servers export, in another process. Batches end by their size.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measures
import proxy
from before_after import ROOT, server_of, write_own_package
from instructions import count_instructions, has_valgrind
from processes import free_port, pin, wait_until_listening

HIGHEST_RATIO = 1.15
SETTINGS: dict[str, dict[str, str]] = {
    "metrics alone": {"OTEL_TRACES_EXPORTER": "none"},
    "spans and metrics": {},
    "1 trace in 10": {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"},
}
_BY_SIZE = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
_COLLECTOR = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    label: str
    is_http: bool
    calls_api: bool


CASES = (
    Case("HTTP, with a REST request", is_http=True, calls_api=True),
    Case("stdio, with a REST request", is_http=False, calls_api=True),
    Case("HTTP, without an API", is_http=True, calls_api=False),
    Case("stdio, without an API", is_http=False, calls_api=False),
)


@contextmanager
def collector() -> Iterator[str]:
    """Run a collector that accepts everything; yield its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _COLLECTOR, str(port)])
    pin(process.pid, 1)
    try:
        wait_until_listening(process, port, "the collector")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)


def measure(
    case: Case, folder: Path, environment: dict[str, str], profile: Path | None = None
) -> float:
    """Return the instructions of one call of a case."""
    server = server_of(ROOT, folder, is_proxy=case.calls_api)
    params, check = (proxy.CALL, proxy.check) if case.calls_api else (measures.CALL, measures.check)
    candidate = replace(server, environment=environment)
    return count_instructions(candidate, params, check, is_http=case.is_http, profile=profile)


def main() -> None:
    """Print the table; exit with 1 if a call with spans and metrics exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure only cases that contain this text")
    parser.add_argument("--setting", choices=SETTINGS, help="measure only this one")
    parser.add_argument("--profiles", type=Path, help="folder for a callgrind profile of each run")
    options = parser.parse_args()
    if not has_valgrind():
        sys.exit("make bench-telemetry needs valgrind")
    settings = {k: v for k, v in SETTINGS.items() if options.setting in {None, k}}
    pin(0, 1)
    is_too_high = False
    print(f"| tools/call | off | {' | '.join(settings)} |\n|---|---:|{'---:|' * len(settings)}")
    with tempfile.TemporaryDirectory() as temporary, collector() as url, proxy.rest_api() as api:
        folder = Path(temporary)
        write_own_package(ROOT, folder)
        proxy.write_proxy(folder)
        for case in CASES:
            if options.only not in case.label:
                continue
            usual = {"THINGS_BASE_URL": api}
            on = {**usual, **_BY_SIZE, "OTEL_EXPORTER_OTLP_ENDPOINT": url}

            def run(name: str, environment: dict[str, str], case: Case = case) -> float:
                profile = options.profiles and options.profiles / f"{case.label}, {name}.callgrind"
                return measure(case, folder, environment, profile)

            off = run("off", usual)
            counts = {name: run(name, {**on, **more}) for name, more in settings.items()}
            ratios = {name: count / off for name, count in counts.items()}
            cells = [f"{counts[name]:,.0f} = {ratio:.3f}" for name, ratio in ratios.items()]
            print(f"| {case.label} | {off:,.0f} | {' | '.join(cells)} |", flush=True)
            is_too_high = is_too_high or ratios.get("spans and metrics", 0.0) > HIGHEST_RATIO
    sys.exit(is_too_high)


if __name__ == "__main__":
    main()

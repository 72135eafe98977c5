"""Compare the CPU cost of a call with OpenTelemetry (spans and metrics) to that without.

`make bench-telemetry` runs it. Both servers are of this tree and take turns in many rounds; a
collector on loopback receives and drops what the first one exports, in another process. The median
of the rounds' ratios is printed with its quartiles.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from before_after import MEASURES, ROOT, Measure, ratios_of, server_of, write_own_package
from processes import Candidate, free_port, pin, wait_until_listening
from proxy import proxied_stdio_calls, write_proxy

HIGHEST_RATIO = 1.15  # of a call that sends a request to an API
STDIO = Measure(
    "tools/call over stdio with a REST request", proxied_stdio_calls, "cpu_us", is_proxy=True
)
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


@contextmanager
def collector() -> Iterator[str]:
    """A collector that accepts everything: its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _COLLECTOR, str(port)])
    pin(process.pid, 1)
    try:
        wait_until_listening(process, port, "the collector")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)


def with_telemetry(candidate: Candidate, url: str, sampler: str) -> Candidate:
    """Return the same server with its telemetry turned on."""
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_MAX_QUEUE_SIZE": "100000"}
    if sampler:
        settings |= {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": sampler}
    return replace(candidate, name="on", environment={**candidate.environment, **settings})


def main() -> None:
    """Print the table; exit 1 if a call with a REST request costs too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="measure only lines that contain this text")
    parser.add_argument("--sampler", default="", help="the fraction of traces that is recorded")
    options = parser.parse_args()
    pin(0, 1)
    is_too_high = False
    print("| measure | ratio on/off | quartiles |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary, collector() as url:
        write_own_package(ROOT, Path(temporary))
        write_proxy(Path(temporary))
        for measure in (*MEASURES[1:], STDIO):
            if options.only not in measure.label:
                continue
            off = replace(server_of(ROOT, Path(temporary), is_proxy=measure.is_proxy), name="off")
            on = with_telemetry(off, url, options.sampler)
            low, median, high = statistics.quantiles(
                ratios_of(measure, on, off, options.rounds), n=4
            )
            is_too_high = is_too_high or (measure.is_proxy and median > HIGHEST_RATIO)
            print(f"| {measure.label} | {median:.3f} | {low:.3f} to {high:.3f} |", flush=True)
    sys.exit(is_too_high)


if __name__ == "__main__":
    main()

"""Validate and lint the servers of servers.toml, and print the results as Markdown tables.

`make validate-servers`; SERVERS selects some by parts of their names. Servers and mcpgen run in a
network with the loopback interface only. The reports are stored in .cache/servers/reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.paths import CACHE
from tests.validate.third_party.servers import Server, install, read_servers, write_samples

_MCPGEN: Final = Path(sys.executable).with_name("mcpgen")
_REPORTS: Final = CACHE / "servers" / "reports"
_ISOLATED: Final = "MCPGEN_NO_NETWORK"
# The second address shows the validator whether a server listens on more than 127.0.0.1. It takes
# the address from which this machine would reach 192.0.2.1; all other networks stay unreachable.
_NETWORK: Final = (
    "ip link set lo up && ip address add 198.51.100.1/32 dev lo &&"
    ' ip route add 192.0.2.0/24 dev lo src 198.51.100.1 && exec "$@"'
)
_SECONDS: Final = 300.0  # for a validation
_START_SECONDS: Final = 60.0
_EXIT_SECONDS: Final = 10.0
_COLUMNS: Final = (
    "server",
    "transport",
    "revision",
    "score",
    "verdict",
    "coverage",
    "findings",
    "requests",
    "seconds",
    "CPU seconds",
)
_LINT_COLUMNS: Final = ("server", "tools", "tokens", "Glama", "findings of lint")
_SEVERITIES: Final = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Output:
    """Output of mcpgen, and resources used by the run with all processes that it started."""

    report: Mapping[str, Any]
    seconds: float
    cpu_seconds: float

    def store(self, name: str) -> None:
        """Store the report, for examining findings later."""
        (_REPORTS / f"{name}.json").write_text(json.dumps(self.report, indent=1))


def isolate(arguments: Sequence[str]) -> None:
    """Run this module again in separate namespaces and exit with its status.

    It has no network, and every process that a server leaves behind ends with it.
    """
    inner = [sys.executable, "-m", "tests.validate.third_party", *arguments]
    namespaces = ["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = ["unshare", *namespaces, "sh", "-c", _NETWORK, "sh", *inner]
    sys.exit(subprocess.run(command, env={**os.environ, _ISOLATED: "1"}).returncode)


def run_mcpgen(*arguments: str, environment: Mapping[str, str]) -> Output:
    """Run mcpgen with `--json` and return its output."""
    began, before = time.monotonic(), os.times()
    done = subprocess.run(
        [str(_MCPGEN), arguments[0], "--json", *arguments[1:]],
        capture_output=True,
        text=True,
        env=environment,
        timeout=_SECONDS,
    )
    seconds, after = time.monotonic() - began, os.times()
    if not done.stdout:
        raise RuntimeError(done.stderr)
    cpu = after.children_user + after.children_system
    return Output(
        json.loads(done.stdout), seconds, cpu - before.children_user - before.children_system
    )


def find_free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@contextlib.contextmanager
def serve(command: Sequence[str], port: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a server over HTTP until the end of the block."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a script may start the server as another process
    )
    end = time.monotonic() + _START_SECONDS
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{command[0]} does not listen") from None
                time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Run:
    """One server with its own temporary folder, which is also its home folder."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        files = folder / "files"
        files.mkdir()
        write_samples(files)
        self.port = find_free_port()
        self._values = {"{at}": str(server.at), "{files}": str(files), "{port}": str(self.port)}
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1"}
        for name, value in server.environment.items():
            self.environment[name] = self.fill(value)

    def fill(self, text: str) -> str:
        """Replace the placeholders of a word."""
        for name, value in self._values.items():
            text = text.replace(name, value)
        return text

    def command(self, *more: str) -> list[str]:
        """Return the command with further arguments."""
        return [self.fill(word) for word in (*self.server.command, *more)]

    def validate_all(self) -> Iterator[tuple[str, Output]]:
        """Validate over each transport; yield its name and the output."""
        command = self.command(*self.server.stdio)
        yield "stdio", run_mcpgen("validate", "--", *command, environment=self.environment)
        if self.server.endpoint:
            url = f"http://127.0.0.1:{self.port}{self.server.endpoint}"
            with serve(self.command(*self.server.http), self.port, self.environment):
                yield "http", run_mcpgen("validate", url, environment=self.environment)

    def lint(self) -> Output:
        """Lint the tools of the server."""
        command = self.command(*self.server.stdio)
        return run_mcpgen("lint", "--", *command, environment=self.environment)


def join_cells(*cells: object) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def show_head(columns: Sequence[str]) -> str:
    """Return the first two lines of a Markdown table."""
    return "\n".join([join_cells(*columns), join_cells(*["---"] * len(columns))])


def show_validation(server: Server, transport: str, run: Output) -> Iterator[str]:
    """Yield a row for each revision, and one for the whole validation."""
    pin, report = server.pins[0], run.report
    for revision, score in report["revisions"].items():
        found = [it for it in report["findings"] if it["revision"] == revision]
        yield join_cells(
            pin,
            transport,
            revision,
            f"{'' if score['reliable'] else '~'}{score['score']}",
            score["verdict"],
            f"{score['exercised']}/{score['applicable']}",
            len(found),
            score["requests"],
            f"{score['seconds']:.1f}",
            "",
        )
    requests = sum(score["requests"] for score in report["revisions"].values())
    totals = (requests, f"{run.seconds:.1f}", f"{run.cpu_seconds:.1f}")
    yield join_cells(pin, transport, "all", "", report["outcome"], "", "", *totals)


def show_lint(server: Server, report: Mapping[str, Any]) -> str:
    """Return a row with the tools, tokens, grade and findings of a server."""
    severities = Counter(it["severity"] for it in report["findings"])
    found = ", ".join(f"{severities[it]} {it}s" for it in _SEVERITIES if severities[it])
    grade = report["glama"]["tier"] if report["glama"] else "-"
    return join_cells(
        server.pins[0], len(report["tools"]), report["token_cost"], grade, found or "none"
    )


def main(words: Sequence[str]) -> None:
    """Validate and lint the selected servers."""
    servers = [it for it in read_servers() if not words or any(word in it.name for word in words)]
    if not os.environ.get(_ISOLATED):
        for server in servers:
            install(server)
        isolate(words)
    _REPORTS.mkdir(exist_ok=True)
    print(show_head(_COLUMNS))
    linted = []
    for server in servers:
        folder = Path(tempfile.mkdtemp())
        try:
            run = Run(server, folder)
            for transport, output in run.validate_all():
                output.store(f"{server.at.name}-{transport}")
                print(*show_validation(server, transport, output), sep="\n", flush=True)
            output = run.lint()
            output.store(f"{server.at.name}-lint")
            linted.append(show_lint(server, output.report))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print("", show_head(_LINT_COLUMNS), *linted, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The server under experiment: exchanges, what they show, and the bounds of the run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.robustness.faults import FAULTS, Finding
from mcpgen.factory.robustness.intensity import Intensity
from mcpgen.factory.robustness.leaks import find_path, find_trace, iterate_error_texts
from mcpgen.factory.validate.checks.exchange import harmless_request
from mcpgen.factory.validate.probe import START_SECONDS, Probe
from mcpgen.factory.wire.connection import Connection, ConnectionLostError, Pending, encode
from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.factory.wire.http import HttpConnection, encode_header_value
from mcpgen.factory.wire.session import Reply, Session
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.validation import SchemaValidator

ANSWER_SECONDS: Final = 8.0
_ALIVE_SECONDS: Final = 20.0  # a tool may keep a server that does one thing at a time busy
_EXIT_SECONDS: Final = 2.0
_START_SECONDS: Final = START_SECONDS + _ALIVE_SECONDS  # of a new process
_INTERNAL_ERROR: Final = -32603
# Statuses with which a server, or a firewall before it, may end the examination.
_REFUSALS: Final = {403: "refuses further requests", 429: "limits the rate of requests"}
_INTERNAL_STATUS: Final = 500  # gateways answer with others, and so do servers without a feature
_MAX_EVIDENCE: Final = 4
_MAX_SHOWN: Final = 120


class ServerLostError(Exception):
    """The server does not answer any more; the finding is reported."""


class EndOfRunError(Exception):
    """Nothing more may be sent; the message states why."""


class Variant(Struct, frozen=True):
    """One message of an experiment.

    `message` is sent unchanged if it is bytes; `headers_of` is the message whose HTTP headers it
    has then.
    """

    name: str
    message: Any
    headers_of: JsonObject | None = None
    must_answer: bool = False  # it is a well-formed request that takes no time
    wait_seconds: float = 0.1  # over stdio, for a response that need not come
    is_client_fault: bool = True  # an internal error would blame the server for it


class ToolUnderTest(Struct, frozen=True):
    """A tool that may be called, valid arguments, and how long their call took."""

    name: str
    schema: JsonObject
    arguments: JsonObject
    seconds: float
    validator: SchemaValidator | None

    def accepts(self, arguments: Any) -> bool:
        """Whether the schema of the tool allows arguments; True if that cannot be decided."""
        try:
            return self.validator is None or self.validator.is_valid(arguments)
        except (ValueError, RecursionError, TypeError):
            return True


class Subject:
    """A server over one transport, with the findings of all experiments so far."""

    def __init__(self, probe: Probe, intensity: Intensity, seed: int) -> None:
        self.probe = probe
        self.intensity = intensity
        self.seed = seed
        self.findings: dict[tuple[str, str], Finding] = {}
        self.tools: list[ToolUnderTest] = []
        self.known_text = ""  # of definitions and valid calls: a path in it is no leak
        self.messages = 0
        self.exits_at_end = True  # at the end of its standard input, as far as observed
        self.memory: list[int] = []  # bytes, at the measurements of the run
        self._sent_bytes = 0
        self._experiment = self._group = ""
        self._random = random.Random()  # noqa: S311  (`begin` seeds it)
        self._deadline = asyncio.get_running_loop().time() + intensity.max_seconds

    @property
    def is_stdio(self) -> bool:
        """Whether the server is a child process."""
        return self.probe.transport == "stdio"

    # Bounds and choices

    def begin(self, experiment: str, group: str) -> None:
        """Begin an experiment, whose choices depend on the seed and its name alone."""
        self._experiment, self._group = experiment, group
        self._random.seed(f"{self.seed}/{experiment}")

    def choose(self, variants: Sequence[Variant]) -> list[Variant]:
        """Return as many variants as the intensity allows, in their order."""
        limit = self.intensity.cases * (1 if self._group == "arguments" else 2)
        if len(variants) <= limit:
            return list(variants)
        chosen = sorted(self._random.sample(range(len(variants)), limit))
        return [variants[index] for index in chosen]

    def make_bytes(self, size: int) -> bytes:
        """Return random bytes."""
        return self._random.randbytes(size)

    def spend(self, size: int) -> None:
        """Count a message.

        Raises:
            EndOfRunError: a bound of the run is reached.
        """
        bounds = self.intensity
        if asyncio.get_running_loop().time() > self._deadline:
            raise EndOfRunError(f"not begun within {bounds.max_seconds:g} seconds")
        if self.messages >= bounds.max_messages:
            raise EndOfRunError(f"the run is limited to {bounds.max_messages} messages")
        if self._sent_bytes + size > bounds.max_bytes:
            raise EndOfRunError(f"the run is limited to {bounds.max_bytes // 2**20} MiB")
        self.messages += 1
        self._sent_bytes += size

    # Exchanges

    async def get_session(self) -> Session:
        """Return the session that experiments share.

        Raises:
            ServerLostError: the process has ended since the last message; that is reported.
        """
        current = self.probe.current_session
        if self.is_stdio and current is not None and current.connection.lost:
            await self._report_loss("a while after the message before", current.connection.lost)
        return await self.probe.get_session()

    async def exchange(self, variant: Variant) -> Reply | None:
        """Send one message, examine the response, and check that the server still answers.

        Return the reply if the message must be answered and was.

        Raises:
            ServerLostError: the server does not answer any more.
            EndOfRunError: a bound of the run is reached.
        """
        session = await self.get_session()
        connection = session.connection
        self.spend(len(encode(variant.message)))
        since = len(connection.received)
        try:
            pending = await connection.start(variant.message, self._make_headers(session, variant))
            response = await self._wait(connection, pending, variant)
        except ConnectionLostError:
            await self.check_alive(variant.name)
            self.examine(connection.received[since:], variant)
            return None
        reply = Reply(pending.request, response, pending.head)
        self._check_refusal(reply.status)
        is_answered = response is not None or reply.status >= 300
        if not is_answered:
            await self.check_alive(variant.name)
            await pending.response(variant.wait_seconds)
        self.examine(connection.received[since:], variant)
        if variant.must_answer and not is_answered:
            limit = f"{ANSWER_SECONDS:g}"
            message = f"{variant.name}: no response within {limit} seconds"
            self.add_finding("request-unanswered", message, [pending.request])
        return reply if variant.must_answer and response is not None else None

    async def _wait(
        self, connection: Connection, pending: Pending, variant: Variant
    ) -> Frame | None:
        if isinstance(connection, StdioConnection) and not variant.must_answer:
            return None  # the harmless request that follows is read after it
        response = await pending.response(ANSWER_SECONDS)
        pending.abandon()
        return response

    def _make_headers(self, session: Session, variant: Variant) -> Mapping[str, str] | None:
        connection = session.connection
        if not isinstance(connection, HttpConnection):
            return None
        return make_headers(session, connection, variant.headers_of or variant.message)

    def _check_refusal(self, status: int) -> None:
        if status in _REFUSALS:
            raise EndOfRunError(f"the server {_REFUSALS[status]} (HTTP {status})")

    async def check_alive(self, after: str) -> None:
        """Check that the server answers a harmless request in time.

        Over stdio, the same process must answer it. Over HTTP, a new session may be needed.

        Raises:
            ServerLostError: it does not, which is reported.
        """
        trouble = await self._ask()
        if trouble and not self.is_stdio:
            await self.probe.close()
            trouble = await self._ask()
        if trouble:
            await self._report_loss(after, trouble)

    async def _ask(self) -> str:
        """Send a harmless request; return "" or what happened instead of a response."""
        self.spend(0)
        current = self.probe.current_session
        if self.is_stdio and current is not None and current.connection.lost:
            return current.connection.lost
        try:
            async with asyncio.timeout(_START_SECONDS if self.is_stdio else _ALIVE_SECONDS):
                session = await self.probe.get_session()
                method = harmless_request(self.probe)
                reply = await session.request(method, timeout_seconds=_ALIVE_SECONDS)
        except TimeoutError:
            return "no response in time"
        except ConnectionLostError as error:
            return str(error) or "the connection was closed"
        self._check_refusal(reply.status)
        if reply.response is None:
            return f"HTTP {reply.status}" if reply.status else "no response in time"
        return ""

    async def _report_loss(self, after: str, trouble: str) -> None:
        """Report that the server is lost, and close its remaining processes and connections.

        Raises:
            ServerLostError: always.
        """
        current = self.probe.current_session
        connection = current.connection if current is not None else None
        rule, detail = "stopped-answering", f"the server does not answer any more ({trouble})"
        if isinstance(connection, StdioConnection):
            rule, detail = await self._describe_end(connection)
        frames = [it for it in self.probe.frames if not it.is_received][-2:]
        self.add_finding(rule, f"{after}: {detail}", frames)
        await self.probe.close()
        raise ServerLostError(detail)

    async def _describe_end(self, connection: StdioConnection) -> tuple[str, str]:
        code = await connection.wait_for_exit(_EXIT_SECONDS)
        if code is None:
            limit = f"{_ALIVE_SECONDS:g}"
            return "stopped-answering", f"no response to a later request within {limit} seconds"
        lines = [line.strip() for line in connection.stderr.splitlines() if line.strip()]
        last = f"; its log ends with: {self._shorten(lines[-1])}" if lines else ""
        return "process-ended", f"the process ended with the exit code {code}{last}"

    def _shorten(self, text: str) -> str:
        """Return the beginning of a text without secrets, also without a part of one."""
        return self.probe.recording.redact(text)[:_MAX_SHOWN]

    # What frames show

    def examine(self, frames: Sequence[Frame], variant: Variant) -> None:
        """Report what received frames show: noise on stdout, leaks, internal errors."""
        sent = encode(variant.message).decode("utf-8", "replace")
        for frame in frames:
            evidence = [frame.request, frame] if frame.request is not None else [frame]
            if frame.fault and self.is_stdio:
                shown = self._shorten(frame.raw.decode("utf-8", "backslashreplace"))
                message = f"{variant.name}: a line of stdout is {shown!r}"
                self.add_finding("stdout-noise", message, [frame])
            for error in iterate_error_texts(frame):
                self._examine_text(error, sent, variant.name, evidence)
            if variant.is_client_fault:
                self._examine_code(frame, variant.name, evidence)

    def _examine_text(self, error: str, sent: str, name: str, evidence: Sequence[Frame]) -> None:
        if language := find_trace(error):
            message = f"{name}: a stack trace of {language} is returned"
            self.add_finding("traceback-leaked", message, evidence)
        elif path := find_path(error, sent + self.known_text):
            message = f"{name}: an error names the file {self._shorten(path)}"
            self.add_finding("path-leaked", message, evidence)

    def _examine_code(self, frame: Frame, name: str, evidence: Sequence[Frame]) -> None:
        codes = [
            message["error"].get("code")
            for message in iterate_messages(frame)
            if isinstance(message.get("error"), dict)
        ]
        status = frame.http.status if frame.http is not None else 0
        if _INTERNAL_ERROR in codes:
            message = f"{name}: answered with the error {_INTERNAL_ERROR}"
            self.add_finding("internal-error", message, evidence)
        elif status == _INTERNAL_STATUS:
            self.add_finding("internal-error", f"{name}: answered with HTTP {status}", evidence)

    def add_finding(self, rule: str, message: str, frames: Sequence[Frame] = ()) -> None:
        """Add a fault of the current experiment; only the first message of a kind is stored."""
        key = (rule, self._experiment)
        known = self.findings.get(key)
        if known is not None:
            self.findings[key] = replace(known, times=known.times + 1)
            return
        evidence = self.probe.recording.evidence(list(frames)[:_MAX_EVIDENCE])
        self.findings[key] = Finding(
            FAULTS[rule], self._experiment, self._group, self.probe.transport, message, evidence
        )


def make_headers(session: Session, connection: HttpConnection, message: Any) -> dict[str, str]:
    """Return the headers of a POST; one without a method gets those of a list request."""
    has_method = isinstance(message, dict) and isinstance(message.get("method"), str)
    headers = connection.standard_headers(message if has_method else None)
    if session.is_modern:
        defaults = {"MCP-Protocol-Version": session.revision, "Mcp-Method": "tools/list"}
        headers = {**defaults, **headers}
    return {name: _make_header_safe(value) for name, value in headers.items()}


def _make_header_safe(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    try:
        return encode_header_value(value)
    except UnicodeEncodeError:
        return ""

"""Examine one of the test servers with the validator, over the transport of a run."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcpgen.factory.validate.probe import ProbeOptions
from mcpgen.factory.validate.report import compute_scores
from mcpgen.factory.validate.run import Validation, validate
from mcpgen.factory.validate.score import Score
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.wire.targets import Target
from tests.support.paths import REPOSITORY
from tests.validate.servers.features import Server
from tests.validate.servers.http import HttpServer, listen

RUN = REPOSITORY / "tests/validate/servers/run.py"
_FINDINGS = {Verdict.FAIL, Verdict.ERROR}


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings of one revision and transport, with their messages and the score."""

    validation: Validation
    findings: dict[str, str]
    score: Score | None  # None: the revision was not examined

    @property
    def shown(self) -> int:
        """The score from 0 to 100; 0 if the server could not be examined."""
        return self.score.score if self.score is not None else 0

    def describe(self) -> str:
        """Return the findings as lines, for messages of failed tests."""
        lines = [f"{rule}: {message}" for rule, message in sorted(self.findings.items())]
        trouble = self.validation.trouble or str(self.validation.unsupported or "")
        return "\n".join([f"score {self.shown}", trouble, *lines])


@asynccontextmanager
async def serve(module: str, server: type[Any], transport: str) -> AsyncIterator[Target]:
    """Yield the target of a server; with HTTP, it runs in this process."""
    if transport == "stdio":
        name = server.__qualname__
        yield Target(command=(sys.executable, "-I", "-S", str(RUN), module, name))
        return
    if not issubclass(server, HttpServer):
        bases = (HttpServer,) if server is Server else (server, HttpServer)
        server = type(server.__name__, bases, {})
    token = server.token
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with listen(server()) as url:
        if transport == "sse":
            url = url.removesuffix("/mcp") + "/sse"
        yield Target(url=url, headers=headers, token=token)


async def examine(
    target: Target,
    transport: str,
    revision: str,
    *,
    allow_writes: bool = True,
    timeout_seconds: float = 8.0,
) -> Examined:
    """Examine a server under one revision."""
    validation = await validate(
        target,
        revisions=(revision,),
        transports=(transport,),
        options=ProbeOptions(allow_writes=allow_writes, timeout_seconds=timeout_seconds),
    )
    findings = {
        result.requirement.id: result.outcome.message
        for result in validation.results
        if result.outcome.verdict in _FINDINGS
    }
    return Examined(validation, findings, compute_scores(validation).get(revision))

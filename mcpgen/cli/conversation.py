"""Exchanges with a server, and reports of their failures."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.outcome import Outcome

if TYPE_CHECKING:
    from mcpgen.testing.client.client import RpcError


def converse(printer: Printer, talk: Coroutine[Any, Any, int]) -> int:
    """Run `talk` and return its exit code; an unreachable server is a finding."""
    import asyncio

    from mcpgen.testing.client.client import NoAnswerError, RpcError
    from mcpgen.testing.client.connections import ConnectionLostError

    try:
        return asyncio.run(talk)
    except RpcError as error:
        return report_refusal(printer, error)
    except (ConnectionLostError, NoAnswerError, OSError) as error:
        printer.error("unreachable", f"cannot connect to the server: {error}")
        return printer.finish(Outcome.FINDINGS, "unreachable")


def report_refusal(printer: Printer, error: RpcError, log: str = "") -> int:
    """Report a JSON-RPC error, with what the server logged about it, and return the exit code."""
    printer.error("refused", f"the server answered with the JSON-RPC error {error}")
    printer.log(log)
    return printer.finish(Outcome.FINDINGS, "refused")

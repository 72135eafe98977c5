"""Requests that the mcpgen runtime sends for each tool of a document, for comparison with judges.

If a document has more operations than the maximum, a random sample of them is taken.

No credentials are sent except parameters and members of a body, and all requests have one base
URL, so that only parameters and bodies differ.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from mcpgen.diagnostics import Problems
from mcpgen.openapi.source.load import load
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import Case, Client, read_cases

BASE_URL = "https://judged.example"

Call = dict[str, Any]
"""One call: `operation`, `values` by location and name, `body`, `content_type`, `ours` (a request).

`parameters` and `media_type` describe the serialization, by which disagreements are grouped.
"""


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document, and the maximum number of its operations to judge."""

    name: str
    path: Path
    most_operations: int | None = None


def calls_of(document: JudgedDocument) -> tuple[Any, list[Call]]:
    """Return the document as JSON, and every call that sends a request."""
    read = load(str(document.path), Problems())
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "server"
        options = Options(models=False, external_validator=False)
        report = new(str(document.path), target, options, lambda _: None)
        if report.plan is None or len(read.files) > 1:
            return None, []
        sys.path.insert(0, str(target / "src"))
        entries = json.loads((target / "tests" / "generated" / "cases.json").read_bytes())
        # The judges make their own requests from these values; the variations of a suite go to
        # what only the mock can read.
        cases = [
            case
            for case in read_cases(entries)
            if case.group == "calls" and case.id.endswith("est arguments")
        ]
        chosen = _choose_operations(cases, document)
        cases = [case for case in cases if case.expect["operation"] in chosen]
        calls = asyncio.run(_sent(str(report.plan.package), cases))
    return read.root, calls


def _choose_operations(cases: list[Case], document: JudgedDocument) -> set[str]:
    """Return the operations to judge, the same ones in each run."""
    found = sorted({case.expect["operation"] for case in cases})
    most = document.most_operations
    if most is None or len(found) <= most:
        return set(found)
    return set(random.Random(document.name).sample(found, most))


async def _sent(package: str, cases: list[Case]) -> list[Call]:
    server = ServerPackage.load(package)
    contracts: dict[str, Any] = {}
    for group in server.contract["groups"]:
        for name, tool in import_module(f"{package}._generated.tools.{group}").tools.tools.items():
            tool.contract["request"].pop("security", None)
            contracts[name] = tool.contract
    requests: list[HttpRequest] = []

    async def send(request: HttpRequest) -> HttpResponse:
        requests.append(request)
        return HttpResponse(404)

    environ = {f"{server.contract['env_prefix']}BASE_URL": BASE_URL}
    calls = []
    for settings, those in groupby(cases, lambda case: dict(case.settings)):
        async with Client.in_memory(server, {**environ, **settings}, send=send) as client:
            for case in those:
                requests.clear()
                await client.call_tool(case.tool, case.arguments)
                calls.append(_call(case, contracts[case.tool], requests))
    return calls


def _call(case: Case, contract: dict[str, Any], requests: list[HttpRequest]) -> Call:
    request = contract["request"]
    expected = case.expect["request"]
    call: Call = {
        "operation": case.expect["operation"],
        "case": case.id,
        "values": {},
        "parameters": request["parameters"],
    }
    for parameter in request["parameters"]:
        own = expected.get(parameter["in"])  # in the API's own names, within objects too
        if isinstance(own, dict) and parameter["name"] in own:
            value = own[parameter["name"]]  # also if it is sent though the caller did not give it
        elif parameter["argument"] in case.arguments:
            value = case.arguments[parameter["argument"]]
        else:
            continue
        call["values"].setdefault(parameter["in"], {})[parameter["name"]] = value
    body = request.get("body")
    if body and expected.get("content_type"):
        call["body"] = expected["body"]
        call["content_type"] = expected["content_type"]
        call["media_type"] = _described(body["media_types"], call["content_type"])
    call["ours"] = as_json(requests[0]) if requests else {"refused": "nothing was sent"}
    return call


def _described(media_types: list[dict[str, Any]], sent: str) -> dict[str, Any]:
    """Return the description of a media type in the contract, by its name or a matching range."""
    by_name = {item["media_type"]: item for item in media_types}
    return by_name.get(sent) or next(
        item for name, item in by_name.items() if fnmatchcase(sent, name)
    )


def as_json(request: HttpRequest) -> dict[str, Any]:
    """Convert a request to the form that judges use."""
    return {
        "method": request.method,
        "url": request.url,
        "headers": list(request.headers),
        "body": None if request.body is None else base64.b64encode(request.body).decode(),
    }

"""A small API whose tools take parameters and headers from settings of the server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcpgen.cli.app import run
from mcpgen.factory.packages import find_package
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream

DOCUMENT = """
openapi: 3.1.0
info: {title: Fleet, version: "1"}
servers: [{url: "https://fleet.example"}]
paths:
  /accounts/{account}/trucks:
    parameters:
      - name: account
        in: path
        required: true
        description: The account. It never changes.
        schema: {type: string, pattern: "^AC[0-9]{4}$", examples: [AC0001]}
      - {name: teamId, in: query, description: The team., schema: {type: integer, minimum: 10}}
      - {name: X-Trace, in: header, schema: {type: boolean}}
      - {name: X-Tenant, in: header, schema: {type: string}}
      - {name: region, in: cookie, schema: {type: string}}
      - {name: api_key, in: query, schema: {type: string}}
    get:
      operationId: listTrucks
      tags: [trucks]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: array}}}}}
    post:
      operationId: addTruck
      tags: [trucks]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [plate, depot]
              properties:
                plate: {type: string}
                depot: {type: integer, description: Where it belongs.}
                tags: {type: array, items: {type: integer}}
      responses: {'204': {description: ok}}
"""
COMMON = """
      account: {from_environment: FLEET_ACCOUNT}
      team_id: {from_environment: TEAM_ID}
      x_trace: {from_environment: FLEET_TRACE}
      x_tenant: {from_environment: FLEET_TENANT}
      region: {from_environment: FLEET_REGION, default: eu}
      api_key: {from_environment: FLEET_QUERY_KEY}
"""
MANIFEST = f"""
server: {{name: fleet}}
sources: [{{document: openapi.yaml}}]
operations:
  listTrucks:
    parameters:{COMMON}
  addTruck:
    parameters:{COMMON.rstrip()}
      body.depot: {{from_environment: FLEET_DEPOT}}
      body.tags: {{from_environment: FLEET_TAGS}}
"""
SET = {
    "FLEET_ACCOUNT": "AC1234",
    "TEAM_ID": "12",
    "FLEET_TRACE": "true",
    "FLEET_QUERY_KEY": "k-0123456789",
    "FLEET_DEPOT": "7",
    "FLEET_TAGS": "1, 2",
}


class Fleet:
    """A project whose tools take parameters from settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, folder: Path) -> Fleet:
        """Generate the project in `folder`."""
        document = folder.with_suffix(".yaml")
        document.write_text(DOCUMENT)
        fleet = cls(folder)
        assert run(["new", str(document), str(folder), "--name", "fleet", "-q"]) == 0
        fleet.generate(MANIFEST)
        return fleet

    def generate(self, manifest: str) -> None:
        (self.folder / "mcpgen.yaml").write_text(manifest)
        assert run(["generate", str(self.folder), "-q"]) == 0

    def call(self, tool: str, arguments: dict[str, Any], environ: dict[str, str]) -> Any:
        """Call a tool; return its result and the requests that the API received."""
        mock = MockUpstream(find_package(self.folder).upstream(), base_url="https://fleet.example")

        async def converse() -> Any:
            package = ServerPackage.load("fleet_mcp")
            async with Client.in_memory(package, environ, send=mock.send) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(asyncio.wait_for(converse(), 60)), mock.requests

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a Python command in the project."""
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=find_package(self.folder).environment(environ),
            capture_output=True,
            text=True,
            check=False,
        )


def texts(result: Any) -> str:
    return "\n".join(block["text"] for block in result["content"])

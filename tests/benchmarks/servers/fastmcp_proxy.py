"""FastMCP's OpenAPI proxy: `fastmcp_proxy.py TOOLS PORT`, with the API at `THINGS_BASE_URL`."""

import json
import os
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

document = json.loads(Path(__file__).with_name("things.json").read_text())
client = httpx2.AsyncClient(base_url=os.environ["THINGS_BASE_URL"])
server = FastMCP.from_openapi(document, client, name="things")
server.run(
    "http",
    host="127.0.0.1",
    port=int(sys.argv[2]),
    show_banner=False,
    json_response=True,
    stateless_http=True,
    log_level="error",
)

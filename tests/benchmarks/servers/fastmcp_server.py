"""A FastMCP server over stdio or HTTP: `fastmcp_server.py TOOLS [PORT]`."""

import sys

from fastmcp import FastMCP

COUNT = int(sys.argv[1])
server = FastMCP("bench")


def repeat(text: str, times: int) -> str:
    """Repeat a text."""
    return text * times


for index in range(COUNT):
    server.tool(repeat, name=f"repeat_{index}", output_schema=None)

if len(sys.argv) > 2:
    server.run(
        "http",
        host="127.0.0.1",
        port=int(sys.argv[2]),
        show_banner=False,
        json_response=True,
        stateless_http=True,
        log_level="error",
    )
else:
    server.run("stdio", show_banner=False, log_level="error")

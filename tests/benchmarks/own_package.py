"""Write a server package as mcpgen generates it, with any number of tools and no upstream API."""

from __future__ import annotations

import json
from pathlib import Path

from mcpgen.render.json_text import wrap_tools

PACKAGE = "bench_mcp"

INPUT_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["text", "times"],
    "additionalProperties": False,
}

MODULE_HEAD = '''"""Handlers of the `notes` tools."""

from mcpgen.runtime import Context, ToolGroup

tools = ToolGroup.load(__name__, "notes.json")
'''

HANDLER = '''

@tools.handler("{name}")
async def {name}(ctx: Context, *, text: str, times: int) -> str:
    """Repeat a text: `GET /{name}`."""
    return text * times
'''


def write_package(root: Path, count: int) -> Path:
    """Write the package below `root`; return the folder to add to the import path."""
    package = root / f"tools-{count}" / PACKAGE
    tools = package / "_generated" / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    (package / "handlers").mkdir(exist_ok=True)
    names = sorted(f"repeat_{index}" for index in range(count))
    listing = {"description": "Repeat a text.", "inputSchema": INPUT_SCHEMA}
    contract = {
        "name": "bench",
        "title": "Bench",
        "description": "",
        "instructions": "",
        "env_prefix": "BENCH_",
        "servers": [{"url": "http://127.0.0.1:9/", "variables": {}}],
        "security_schemes": {},
        "environment": [],
        "groups": ["notes"],
    }
    group = {
        "tag": "notes",
        "tools": {
            name: {
                "operation": f"GET /{name}",
                "arguments": {"text": "text", "times": "times"},
                "result_key": "",
                "request": {
                    "method": "GET",
                    "path": f"/{name}",
                    "parameters": [
                        {
                            "in": "query",
                            "name": argument,
                            "argument": argument,
                            "style": "form",
                            "explode": True,
                        }
                        for argument in ("text", "times")
                    ],
                    "accept": ["application/json"],
                },
            }
            for name in names
        },
    }
    for folder in (package, package / "handlers", package / "_generated", tools):
        (folder / "__init__.py").write_text('"""Part of a benchmark."""\n')
    (package / "__init__.py").write_text('"""A benchmark."""\n\n__version__ = "1"\n')
    (package / "__main__.py").write_text(
        "import sys\n\nfrom mcpgen.runtime.serving import serve\n\n"
        'if __name__ == "__main__":\n    sys.exit(serve("bench_mcp"))\n'
    )
    (package / "_generated" / "contract.json").write_text(json.dumps(contract))
    listed = wrap_tools({"name": name, **listing} for name in names)
    (package / "_generated" / "listing.json").write_bytes(listed)
    (tools / "notes.json").write_text(json.dumps(group))
    (tools / "notes.py").write_text(
        MODULE_HEAD + "".join(HANDLER.format(name=name) for name in names)
    )
    return package.parent

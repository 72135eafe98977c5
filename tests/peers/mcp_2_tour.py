"""Visits everything-mcp with the `mcp` 2.3.0 client; run by that package's own interpreter.

Reads `mode` ("legacy", "auto" or a modern revision) and `command` and `environment`, or `url`, as
JSON on stdin. Prints what the client understood.
"""

import asyncio
import json
import sys

from mcp import Client, types
from mcp.client.stdio import StdioServerParameters


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"username": "ada", "email": "a@b.example"})


async def sample(context, params):
    said = types.TextContent(type="text", text="Hello")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work")])


async def tour(order):
    logged, progress = [], []

    async def log(params):
        logged.append(params.data)

    async def report(done, total, message):
        progress.append(done)

    if "url" in order:
        server = order["url"]
    else:
        program, *arguments = order["command"]
        server = StdioServerParameters(command=program, args=arguments, env=order["environment"])
    client = Client(
        server,
        mode=order["mode"],
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
        logging_callback=log,
        log_level="info",
    )
    async with client:

        async def call(tool, **arguments):
            return await client.call_tool(tool, arguments, progress_callback=report)

        async def text_of(tool, **arguments):
            return (await call(tool, **arguments)).content[0].text

        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        read = await client.read_resource("test://static-text")
        templated = await client.read_resource("test://template/7/data")
        completed = await client.complete(
            types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments"),
            {"name": "arg1", "value": "par"},
        )
        seen = {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "templates": len((await client.list_resource_templates()).resource_templates),
            "kinds": [it.type for it in (await call("test_multiple_content_types")).content],
            "structured": (await call("test_structured_content")).structured_content,
            "failed": (await call("test_error_handling")).is_error,
            "elicited": await text_of("test_elicitation", message="Who?"),
            "sampled": await text_of("test_sampling", prompt="Hello?"),
            "roots": await text_of("test_list_roots"),
            "said": await text_of("test_tool_with_progress"),
            "prompt": prompt.messages[0].content.text,
            "read": read.contents[0].text,
            "templated": json.loads(templated.contents[0].text)["id"],
            "completed": completed.completion.values,
        }
        await call("test_tool_with_logging")
    return {**seen, "progress": progress, "logged": len(logged)}


print(json.dumps(asyncio.run(asyncio.wait_for(tour(json.load(sys.stdin)), 50))))

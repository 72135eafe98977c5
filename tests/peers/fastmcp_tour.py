"""Tour everything-mcp with the `fastmcp` 4.1.6 client, in its own environment.

Reads `mode` ("legacy", "auto" or a modern revision) and `command` and `environment`, or `url`, as
JSON on stdin. Prints what the client understood.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.types import PromptReference


async def elicit(message, response_type, params, context):
    return ElicitResult(action="accept", content={"username": "ada", "email": "a@b.example"})


async def sample(messages, params, context):
    return "Hello"


async def tour(order):
    logged, progress = [], []

    async def log(message):
        logged.append(message.data)

    async def report(done, total, message):
        progress.append(done)

    if "url" in order:
        server = StreamableHttpTransport(order["url"])
    else:
        program, *arguments = order["command"]
        server = StdioTransport(command=program, args=arguments, env=order["environment"])
    client = Client(
        server,
        mode=order["mode"],
        roots=["file:///work"],
        sampling_handler=sample,
        elicitation_handler=elicit,
        log_handler=log,
        progress_handler=report,
    )
    async with client:

        async def call(tool, **arguments):
            return await client.call_tool_mcp(tool, arguments)

        async def text_of(tool, **arguments):
            return (await call(tool, **arguments)).content[0].text

        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        read = await client.read_resource("test://static-text")
        templated = await client.read_resource("test://template/7/data")
        reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        completed = await client.complete(reference, {"name": "arg1", "value": "par"})
        failed = await call("test_error_handling")
        weather = await call("test_structured_content")
        seen = {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in await client.list_tools()],
            "prompts": len(await client.list_prompts()),
            "resources": len(await client.list_resources()),
            "templates": len(await client.list_resource_templates()),
            "kinds": [it.type for it in (await call("test_multiple_content_types")).content],
            "structured": weather.structured_content,
            "failed": failed.is_error,
            "elicited": await text_of("test_elicitation", message="Who?"),
            "sampled": await text_of("test_sampling", prompt="Hello?"),
            "roots": await text_of("test_list_roots"),
            "said": await text_of("test_tool_with_progress"),
            "prompt": prompt.messages[0].content.text,
            "read": read[0].text,
            "templated": json.loads(templated[0].text)["id"],
            "completed": completed.values,
        }
        await call("test_tool_with_logging")
    return {**seen, "progress": progress, "logged": len(logged)}


print(json.dumps(asyncio.run(asyncio.wait_for(tour(json.load(sys.stdin)), 50))))

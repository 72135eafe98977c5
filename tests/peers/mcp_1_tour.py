"""Visits everything-mcp with the `mcp` 1.30.0 client; run by that package's own interpreter.

Reads `mode` (the revision to ask for) and `command` and `environment`, or `url`, as JSON on stdin.
Prints what the client understood.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"username": "ada", "email": "a@b.example"})


async def sample(context, params):
    said = types.TextContent(type="text", text="Hello")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work")])


async def tour(order):
    logged, progress, changes = [], [], []
    both_changes = asyncio.Event()

    async def log(params):
        logged.append(params.data)

    async def report(done, total, message):
        progress.append(done)

    async def hear(message):
        if isinstance(message, types.ServerNotification):
            method = message.root.method
            if method.endswith(("changed", "updated")):
                changes.append(method)
            if len(changes) == 2:
                both_changes.set()

    async with AsyncExitStack() as stack:
        if "url" in order:
            read, write, _ = await stack.enter_async_context(streamablehttp_client(order["url"]))
        else:
            program, *arguments = order["command"]
            server = StdioServerParameters(
                command=program, args=arguments, env=order["environment"]
            )
            read, write = await stack.enter_async_context(stdio_client(server))
        client = await stack.enter_async_context(
            ClientSession(
                read,
                write,
                sampling_callback=sample,
                elicitation_callback=elicit,
                list_roots_callback=list_roots,
                logging_callback=log,
                message_handler=hear,
            )
        )
        types.LATEST_PROTOCOL_VERSION = order["mode"]  # what `initialize` asks for
        opened = await client.initialize()

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
        await client.subscribe_resource("test://watched-resource")
        seen = {
            "revision": opened.protocolVersion,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "templates": len((await client.list_resource_templates()).resourceTemplates),
            "kinds": [it.type for it in (await call("test_multiple_content_types")).content],
            "structured": (await call("test_structured_content")).structuredContent,
            "failed": (await call("test_error_handling")).isError,
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
        await call("test_trigger_resource_update")
        await call("test_trigger_tool_change")
        await both_changes.wait()  # they may come on a stream of their own
    return {**seen, "progress": progress, "logged": len(logged), "changes": changes}


print(json.dumps(asyncio.run(asyncio.wait_for(tour(json.load(sys.stdin)), 50))))

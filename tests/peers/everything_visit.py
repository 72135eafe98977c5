"""Tour of everything-mcp for both generations of the `mcp` client.

Results are read by their wire names, which both models support.
"""

import json

from mcp import StdioServerParameters, types
from mcp.shared import exceptions

URL_ELICITATION_REQUIRED = -32042
ServerError = exceptions.MCPError if hasattr(exceptions, "MCPError") else exceptions.McpError


class Visit:
    """One visit: the client's answers to questions of the server, and the messages it received."""

    def __init__(self):
        self.urls, self.logged, self.progress = [], [], []

    async def elicit(self, context, params):
        """Fill in the form, or record the URL."""
        if params.mode == "url":
            self.urls.append(params.url)
            return types.ElicitResult(action="accept")
        content = {"username": "ada", "email": "a@b.example"}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, context, params):
        """Answer as the client's model."""
        said = types.TextContent(type="text", text="Hello")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def list_roots(self, context):
        """Return the single root folder of the client."""
        return types.ListRootsResult(roots=[types.Root(uri="file:///work")])

    async def log(self, params):
        """Record a log message."""
        self.logged.append(params.data)

    async def report(self, done, total, message):
        """Record the progress of a call."""
        self.progress.append(done)

    def answers(self):
        """Return the callbacks that both clients accept."""
        return {
            "sampling_callback": self.sample,
            "elicitation_callback": self.elicit,
            "list_roots_callback": self.list_roots,
            "logging_callback": self.log,
        }

    async def see(self, client):
        """Use every feature once and return the results."""

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments, progress_callback=self.report)
            return on_wire(result)

        async def text_of(tool, **arguments):
            return (await call(tool, **arguments))["content"][0]["text"]

        async def text_once_linked():
            try:
                return await text_of("test_url_elicitation_required")
            except ServerError as error:
                if error.error.code != URL_ELICITATION_REQUIRED:
                    raise
                self.urls += [asked["url"] for asked in error.error.data["elicitations"]]
                return await text_of("test_url_elicitation_required")

        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        completed = await client.complete(
            types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments"),
            {"name": "arg1", "value": "par"},
        )
        kinds = (await call("test_multiple_content_types"))["content"]
        templated = on_wire(await client.read_resource("test://template/7/data"))
        seen = {
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "templates": len(on_wire(await client.list_resource_templates())["resourceTemplates"]),
            "kinds": [content["type"] for content in kinds],
            "structured": (await call("test_structured_content"))["structuredContent"],
            "failed": (await call("test_error_handling"))["isError"],
            "elicited": await text_of("test_elicitation", message="Who?"),
            "at_url": await text_of("test_elicitation_url"),
            "linked": await text_once_linked(),
            "urls": self.urls,
            "sampled": await text_of("test_sampling", prompt="Hello?"),
            "roots": await text_of("test_list_roots"),
            "said": await text_of("test_tool_with_progress"),
            "prompt": prompt.messages[0].content.text,
            "read": (await client.read_resource("test://static-text")).contents[0].text,
            "templated": json.loads(templated["contents"][0]["text"])["id"],
            "completed": completed.completion.values,
            "progress": self.progress,
        }
        await call("test_tool_with_logging")
        return seen


def on_wire(result):
    """Return a result of either model with its wire names."""
    return result.model_dump(by_alias=True, mode="json")


def program(order):
    """Return the parameters to start the server of an order."""
    command, *arguments = order["command"]
    return StdioServerParameters(command=command, args=arguments, env=order["environment"])

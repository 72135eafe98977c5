"""Faults of tools: their list, their schemas, their results, their errors."""

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import PIXEL, Server, make_text


class ChangedTool(Server):
    """Base of servers whose tool `add` is listed with other members."""

    def get_tools(self, call):
        tools = super().get_tools(call)
        tools[0] = {**tools[0], **self.change(tools[0])}
        return tools

    def change(self, tool):
        """Return the changed members."""
        raise NotImplementedError


class NullInputSchema(ChangedTool):
    """`inputSchema` is null."""

    def change(self, tool):
        return {"inputSchema": None}


class TextInputSchema(ChangedTool):
    """`inputSchema` describes a string."""

    def change(self, tool):
        return {"inputSchema": {"type": "string"}}


class UntypedInputSchema(ChangedTool):
    """`inputSchema` lacks `type`."""

    def change(self, tool):
        return {"inputSchema": {"properties": tool["inputSchema"]["properties"]}}


class InvalidInputSchema(ChangedTool):
    """A property of `inputSchema` has a type that JSON Schema does not know."""

    def change(self, tool):
        numbers = {"a": {"type": "int"}, "b": {"type": "int"}}
        return {"inputSchema": {**tool["inputSchema"], "properties": numbers}}


class InvalidRequired(ChangedTool):
    """`required` is a text instead of a list."""

    def change(self, tool):
        return {"inputSchema": {**tool["inputSchema"], "required": "a, b"}}


class InvalidOutputSchema(ChangedTool):
    """`outputSchema` is not a valid JSON Schema."""

    def change(self, tool):
        output = {"type": "object", "properties": {"sum": {"type": "int"}}}
        return {"outputSchema": output}


class IllegalName(Server):
    """A tool has a name with spaces and punctuation."""

    def get_tools(self, call):
        schema = {"type": "object"}
        return [*super().get_tools(call), {"name": "get it, now!", "inputSchema": schema}]


class LongName(Server):
    """A tool has a name of 160 characters."""

    def get_tools(self, call):
        tool = {"name": "get_everything_" * 11, "inputSchema": {"type": "object"}}
        return [*super().get_tools(call), tool]


class DuplicateNames(Server):
    """Two tools have the same name."""

    def get_tools(self, call):
        tools = super().get_tools(call)
        return [*tools, {**tools[0], "description": "Add two numbers."}]


class NoToolName(Server):
    """A tool has no name."""

    def get_tools(self, call):
        return [*super().get_tools(call), {"inputSchema": {"type": "object"}}]


class ChangingTools(Server):
    """The last tool disappears when a tool has been called."""

    was_called = False

    def tools_call(self, call):
        self.was_called = True
        return super().tools_call(call)

    def get_tools(self, call):
        tools = super().get_tools(call)
        return tools[:-1] if self.was_called else tools


class ShuffledTools(Server):
    """The order of the tools is another one each time."""

    page_size = 10
    lists = 0

    def get_tools(self, call):
        self.lists += 1
        tools = super().get_tools(call)
        split = self.lists % len(tools)
        return tools[split:] + tools[:split]


class WrongStructuredContent(Server):
    """Structured content that violates the output schema."""

    def call_add(self, call, arguments):
        text = make_text('{"sum": "five"}')
        return {"content": [text], "structuredContent": {"sum": "five"}}


class NoStructuredContent(Server):
    """An output schema without structured content."""

    def call_add(self, call, arguments):
        result = super().call_add(call, arguments)
        result.pop("structuredContent", None)
        return result


class ListAsStructuredContent(Server):
    """Structured content that is no object."""

    def call_find_city(self, call, arguments):
        return {"content": [make_text('["x"]')], "structuredContent": ["x"]}


class NoTextMirror(Server):
    """Structured content without the same as text."""

    def call_add(self, call, arguments):
        return {**super().call_add(call, arguments), "content": []}


class UnknownToolAsResult(Server):
    """Answers a call of an unknown tool with a result."""

    def refuse_tool(self, call, name):
        return {"content": [make_text("there is no such tool")], "isError": True}


class UnknownToolCode(Server):
    """Answers a call of an unknown tool as if the method were unknown."""

    def make_error(self, request_id, error):
        response = super().make_error(request_id, error)
        if error.message.startswith("unknown tool"):
            response["error"]["code"] = -32601
        return response


class ArgumentsUnchecked(Server):
    """Ignores what the input schema requires."""

    def check_arguments(self, tool, arguments):
        return ""

    def call_add(self, call, arguments):
        return super().call_add(call, {"a": 1, "b": 1})

    def call_find_city(self, call, arguments):
        return super().call_find_city(call, {"region": "x"})

    def call_count(self, call, arguments):
        return super().call_count(call, {})


class ArgumentErrorsAsErrors(Server):
    """Answers invalid arguments with an error response in every revision."""

    def refuse_arguments(self, call, violation):
        call.revision = "2025-06-18"
        return super().refuse_arguments(call, violation)


class NoContent(Server):
    """The result of a tool lacks `content`."""

    def call_find_city(self, call, arguments):
        return {"text": "the largest city"}


class IsErrorAsText(Server):
    """`isError` is a string."""

    def call_find_city(self, call, arguments):
        return {**super().call_find_city(call, arguments), "isError": "false"}


class AudioTooEarly(Server):
    """Sends audio to clients whose revision does not have it."""

    def call_show_media(self, call, arguments):
        return {"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]}


class LinkTooEarly(Server):
    """Sends resource links to clients whose revision does not have them."""

    def call_show_media(self, call, arguments):
        return {"content": [{"type": "resource_link", "uri": "memo://hello", "name": "hello"}]}


class ImageWithoutType(Server):
    """An image lacks its media type."""

    def call_show_media(self, call, arguments):
        return {"content": [{"type": "image", "data": PIXEL}]}


class EmbeddedResourceWithoutResources(Server):
    """Embeds a resource and does not offer resources."""

    def get_capabilities(self, revision):
        found = super().get_capabilities(revision)
        del found["resources"]
        return found


class TaskWithoutCapability(Server):
    """Returns a task for a call with `task`, although tasks are not declared."""

    def tools_call(self, call):
        if "task" in call.params:
            now = "2025-11-25T00:00:00Z"
            task = {"taskId": "t1", "status": "working", "createdAt": now, "ttl": None}
            return {"task": {**task, "lastUpdatedAt": now}}
        return super().tools_call(call)


class ChangedHeader(Server):
    """Base of servers with a tool whose `x-mcp-header` annotations are wrong."""

    properties = ()

    def get_tools(self, call):
        return [*super().get_tools(call), self.make_tool()]

    def make_tool(self):
        """Return the tool with the annotations."""
        schema = {"type": "object", "properties": dict(self.properties)}
        return {"name": "find_town", "inputSchema": schema, "annotations": {"readOnlyHint": True}}

    def find_tool(self, name):
        return self.make_tool() if name == "find_town" else super().find_tool(name)

    def call_find_town(self, call, arguments):
        return {"content": [make_text("the largest town")]}


class HeaderOfNumber(ChangedHeader):
    """`x-mcp-header` on a property of type number."""

    properties = (("height", {"type": "number", "x-mcp-header": "Height"}),)


class HeaderWithSpace(ChangedHeader):
    """`x-mcp-header` that is no token."""

    properties = (("region", {"type": "string", "x-mcp-header": "The Region"}),)


class HeaderTwice(ChangedHeader):
    """Two `x-mcp-header` that differ by case alone."""

    properties = (
        ("region", {"type": "string", "x-mcp-header": "Region"}),
        ("country", {"type": "string", "x-mcp-header": "REGION"}),
    )


class SecretHeader(ChangedHeader):
    """`x-mcp-header` on a secret."""

    properties = (("password", {"type": "string", "x-mcp-header": "Password"}),)


class UnknownToolAccepted(Server):
    """Answers a call of any tool."""

    def refuse_tool(self, call, name):
        return {"content": [make_text("done")]}


class UncallableTool(Server):
    """Lists a tool, the call of which is an unknown method."""

    def call_add(self, call, arguments):
        raise RpcError(-32601, "unknown method")


class ToolErrorsAsErrors(Server):
    """Answers with an error response when a tool fails."""

    def call_find_city(self, call, arguments):
        raise RpcError(401, "the API key is not set")


class NamesIgnoreCase(Server):
    """Finds tools without regard to case."""

    def find_tool(self, name):
        return super().find_tool(str(name).lower())

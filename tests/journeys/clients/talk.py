"""Conversations of the Python SDK clients of both generations, and the output they print."""

import json
import os


class Talk:
    """One conversation with a server: listing its tools, or calling one."""

    def __init__(self, arguments):
        self.server, *rest = arguments
        self.tool = rest[0] if rest else ""
        self.arguments = json.loads(rest[1]) if len(rest) > 1 else {}

    def answer(self, message):
        """Answer a question of the server to the user."""
        action = os.environ.get("ANSWER", "accept")
        print(f"asked: {message}\nanswered: {action}")
        return action, {} if action == "accept" else None

    async def hold(self, client, revision):
        """List the tools or call the selected one, and print the result."""
        print(f"revision: {revision}")
        if not self.tool:
            tools = (await client.list_tools()).tools
            print("tools:", ", ".join(tool.name for tool in tools))
            return
        try:
            result = await client.call_tool(self.tool, self.arguments)
        except Exception as error:  # noqa: BLE001  (the two generations have no common class)
            print(f"refused: {error}")
            return
        on_wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        print("error:" if on_wire.get("isError") else "result:")
        for content in on_wire["content"]:
            print(pretty(content["text"]))


def pretty(text):
    """Format JSON with indentation; return other text unchanged."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text

"""What the correct server offers: tools, resources, prompts, completions, logs, subscriptions."""

import json

from tests.validate.servers.core import (
    INVALID_PARAMS,
    LEVELS,
    META,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    EndOfInputError,
    Protocol,
    RpcError,
)

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
READ_ONLY = {"readOnlyHint": True}

TOOLS = (
    {
        "name": "add",
        "title": "Add",
        "description": "Add two integers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"sum": {"type": "integer"}},
            "required": ["sum"],
        },
        "annotations": READ_ONLY,
    },
    {
        "name": "count",
        "description": "Count slowly, and report the progress.",
        "inputSchema": {
            "type": "object",
            "properties": {"steps": {"type": "integer", "minimum": 2, "maximum": 5}},
            "additionalProperties": False,
        },
        "annotations": READ_ONLY,
    },
    {
        "name": "find_city",
        "description": "Find the largest cities of a region.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region", "maxLength": 200},
                "limit": {"type": "integer", "x-mcp-header": "Limit", "minimum": 1, "maximum": 9},
            },
            "required": ["region"],
            "additionalProperties": False,
        },
        "annotations": READ_ONLY,
    },
    {
        "name": "greet_user",
        "description": "Greet the user by name, which is asked for.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": READ_ONLY,
    },
    {
        "name": "show_media",
        "description": "Show one piece of content of every kind.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": READ_ONLY,
    },
)
# Members of a tool, with the revision that introduced them.
TOOL_MEMBERS = {
    "annotations": "2025-03-26",
    "title": "2025-06-18",
    "outputSchema": "2025-06-18",
}
RESOURCES = (
    {"uri": "memo://hello", "name": "hello", "description": "A text.", "mimeType": "text/plain"},
    {"uri": "memo://pixel", "name": "pixel", "description": "An image.", "mimeType": "image/png"},
    {"uri": "memo://empty", "name": "empty", "description": "No text.", "mimeType": "text/plain"},
)
TEMPLATE = {
    "uriTemplate": "memo://numbers/{number}",
    "name": "numbers",
    "description": "A number from 1 to 3.",
    "mimeType": "text/plain",
}
PROMPTS = (
    {
        "name": "greet",
        "description": "Greet somebody.",
        "arguments": [
            {"name": "name", "description": "Who is greeted.", "required": True},
            {"name": "tone", "description": "Friendly or formal."},
        ],
    },
    {"name": "media", "description": "A message for each kind of content."},
)
NAMES = ("Ada", "Alan", "Barbara", "Grace")
NAME_FORM = {
    "message": "What is your name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
_KINDS = {"string": (str,), "integer": (int,), "number": (int, float)}


def find_violation(schema, arguments):
    """Return why arguments do not match a schema of `TOOLS`; "" if they do."""
    if not isinstance(arguments, dict):
        return "`arguments` must be an object"
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"missing argument `{name}`"
    for name, value in arguments.items():
        if name not in schema["properties"]:
            return f"unknown argument `{name}`"
        expected = schema["properties"][name]
        if expected["type"] == "integer" and type(value) is float and value.is_integer():
            value = int(value)  # JSON Schema takes 42.0 for an integer
        if type(value) not in _KINDS[expected["type"]]:
            return f"`{name}` must be of type {expected['type']}"
        if type(value) is int and not expected.get("minimum", value) <= value <= expected.get(
            "maximum", value
        ):
            return f"`{name}` is out of range"
        if type(value) is str and len(value) > expected.get("maxLength", len(value)):
            return f"`{name}` is too long"
    return ""


def make_text(text):
    """Return a content block."""
    return {"type": "text", "text": text}


class Server(Protocol):
    """The correct server: every feature, shaped for the revision of the client."""

    page_size = 2
    count_seconds = 0.4  # long enough to be cancelled

    # -- lists

    def paginate(self, call, items, key):
        """Return one page of a list; a cursor is the text of an index."""
        start = 0
        if "cursor" in call.params:
            start = self.read_cursor(call.params["cursor"], items)
        page = {key: items[start : start + self.page_size]}
        if start + self.page_size < len(items):
            page["nextCursor"] = self.make_cursor(start + self.page_size)
        return page

    def make_cursor(self, index):
        """Return the cursor of an index."""
        return f"from-{index}"

    def read_cursor(self, cursor, items):
        """Return the index of a cursor."""
        for index in range(self.page_size, len(items), self.page_size):
            if cursor == self.make_cursor(index):
                return index
        raise RpcError(INVALID_PARAMS, "unknown cursor")

    def tools_list(self, call):
        """List the tools."""
        return self.paginate(call, self.get_tools(call), "tools")

    def get_tools(self, call):
        """Return the tools with the members that the revision knows."""
        return [
            {name: value for name, value in tool.items() if self.knows(call, name)}
            for tool in TOOLS
        ]

    def knows(self, call, member):
        """Whether the revision of a call has this member of a tool."""
        return TOOL_MEMBERS.get(member, "") <= call.revision

    def resources_list(self, call):
        """List the resources."""
        return self.paginate(call, self.get_resources(call), "resources")

    def get_resources(self, call):
        """Return the resources."""
        return list(RESOURCES)

    def resources_templates_list(self, call):
        """List the resource templates."""
        return self.paginate(call, [TEMPLATE], "resourceTemplates")

    def prompts_list(self, call):
        """List the prompts."""
        return self.paginate(call, list(PROMPTS), "prompts")

    # -- tools

    def tools_call(self, call):
        """Call a tool."""
        name = call.params.get("name")
        tool = self.find_tool(name)
        if tool is None:
            return self.refuse_tool(call, name)
        arguments = call.params.get("arguments", {})
        violation = self.check_arguments(tool, arguments)
        if violation:
            return self.refuse_arguments(call, violation)
        return getattr(self, "call_" + tool["name"])(call, arguments)

    def find_tool(self, name):
        """Return the tool with a name, None if there is none."""
        return next((tool for tool in TOOLS if tool["name"] == name), None)

    def check_arguments(self, tool, arguments):
        """Return why arguments are invalid; "" if they are valid."""
        return find_violation(tool["inputSchema"], arguments)

    def refuse_tool(self, call, name):
        """Refuse to call an unknown tool."""
        raise RpcError(INVALID_PARAMS, f"unknown tool: {name}")

    def refuse_arguments(self, call, violation):
        """Refuse invalid arguments: an error response before 2025-11-25, later a result."""
        if call.revision < "2025-11-25":
            raise RpcError(INVALID_PARAMS, violation)
        return {"content": [make_text(violation)], "isError": True}

    def call_add(self, call, arguments):
        """Add two integers."""
        total = {"sum": int(arguments["a"]) + int(arguments["b"])}
        result = {"content": [make_text(json.dumps(total))]}
        if call.revision >= "2025-06-18":
            result["structuredContent"] = total
        return result

    def call_count(self, call, arguments):
        """Count, with a pause, a progress notification and a log message at each step."""
        steps = int(arguments.get("steps", 3))
        for step in range(1, steps + 1):
            yield self.count_seconds / steps
            yield from self.report_progress(call, step, steps)
            yield from self.log(call, "info", f"step {step} of {steps}")
        return {"content": [make_text(f"counted to {steps}")]}

    def report_progress(self, call, step, steps):
        """Yield a progress notification if the client asked for it."""
        if call.progress_token is not None:
            params = {"progressToken": call.progress_token, "progress": step, "total": steps}
            yield self.notify("notifications/progress", params)

    def log(self, call, level, text):
        """Yield a log message if the client wants messages of this level."""
        if self.wants_log(call, level):
            params = {"level": level, "logger": "tools", "data": text}
            yield self.notify("notifications/message", params)

    def wants_log(self, call, level):
        """Whether a log message of this level may be sent."""
        return call.log_level is not None and LEVELS.index(level) >= LEVELS.index(call.log_level)

    def call_find_city(self, call, arguments):
        """Return a city."""
        return {"content": [make_text("the largest city of " + arguments["region"])]}

    def call_greet_user(self, call, arguments):
        """Ask the user for a name if the client can do that."""
        if call.is_modern:
            return self.greet_modern_user(call)
        return self.greet_legacy_user(call)

    def greet_legacy_user(self, call):
        """Ask by a request of the server."""
        if "elicitation" not in call.capabilities or call.revision < "2025-06-18":
            return {"content": [make_text("this client cannot ask users")], "isError": True}
        answer = yield self.ask(call.session, "elicitation/create", self.get_form(call))
        result = answer.get("result") or {}
        return self.greet(result)

    def get_form(self, call):
        """Return the params of `elicitation/create`."""
        return {"mode": "form", **NAME_FORM} if call.revision >= "2025-11-25" else dict(NAME_FORM)

    def greet(self, answer):
        """Return the result after an answer of the user."""
        content = answer.get("content") or {}
        if answer.get("action") != "accept" or not isinstance(content.get("name"), str):
            return {"content": [make_text("the user told no name")]}
        return {"content": [make_text("Hello, " + content["name"])]}

    def greet_modern_user(self, call):
        """Ask by an `input_required` result; its state is opaque and checked."""
        state = call.params.get("requestState")
        if state is not None and not self.is_own_state(state):
            raise RpcError(INVALID_PARAMS, "invalid `requestState`")
        responses = call.params.get("inputResponses", {})
        if not isinstance(responses, dict):
            raise RpcError(INVALID_PARAMS, "`inputResponses` must be an object")
        answer = responses.get("name")
        if answer is not None:
            return self.greet(self.check_answer(answer))
        declared = call.capabilities.get("elicitation")
        if declared is None or ("url" in declared and "form" not in declared):
            raise self.refuse_client(call)
        return self.require_input(call)

    def is_own_state(self, state):
        """Whether a state was made by this server and not changed."""
        return state == "state-7f3a9c51d2"

    def check_answer(self, answer):
        """Return the answer of the user, or refuse a malformed one."""
        if not isinstance(answer, dict) or answer.get("action") not in (
            "accept",
            "decline",
            "cancel",
        ):
            raise RpcError(INVALID_PARAMS, "malformed answer in `inputResponses`")
        return answer

    def refuse_client(self, call):
        """Return the error for a client that lacks a capability."""
        data = {"requiredCapabilities": {"elicitation": {"form": {}}}}
        return RpcError(MISSING_CAPABILITY, "the client cannot ask users", data)

    def require_input(self, call):
        """Return the result that asks the client for input."""
        request = {"method": "elicitation/create", "params": {"mode": "form", **NAME_FORM}}
        return {
            "resultType": "input_required",
            "inputRequests": {"name": request},
            "requestState": "state-7f3a9c51d2",
        }

    def call_show_media(self, call, arguments):
        """Return one content block of each kind that the revision has."""
        return {"content": self.get_media(call)}

    def get_media(self, call):
        """Return one content block of each kind that the revision has."""
        media = [
            make_text("some media"),
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            {"type": "resource", "resource": {**self.read_known("memo://hello")}},
        ]
        if call.revision >= "2025-03-26":
            media.append({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})
        if call.revision >= "2025-06-18":
            media.append({"type": "resource_link", "uri": "memo://hello", "name": "hello"})
        return media

    # -- resources

    def resources_read(self, call):
        """Read a resource."""
        uri = call.params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "`uri` must be a string")
        found = self.read_known(uri)
        if found is None:
            return self.refuse_resource(call, uri)
        return {"contents": [found]}

    def read_known(self, uri):
        """Return the contents of a resource; None if there is none."""
        number = uri.removeprefix("memo://numbers/")
        if number in ("1", "2", "3"):
            return {"uri": uri, "mimeType": "text/plain", "text": number}
        if uri == "memo://pixel":
            return {"uri": uri, "mimeType": "image/png", "blob": PIXEL}
        if uri in ("memo://hello", "memo://empty"):
            text = "hello" if uri == "memo://hello" else ""
            return {"uri": uri, "mimeType": "text/plain", "text": text}
        return None

    def refuse_resource(self, call, uri):
        """Refuse to read a resource that does not exist."""
        code = INVALID_PARAMS if call.is_modern else RESOURCE_NOT_FOUND
        raise RpcError(code, "resource not found", {"uri": uri})

    def resources_subscribe(self, call):
        """Subscribe to a resource, none of which ever changes."""
        if self.read_known(str(call.params.get("uri"))) is None:
            return self.refuse_resource(call, str(call.params.get("uri")))
        return {}

    def resources_unsubscribe(self, call):
        """End a subscription."""
        return {}

    # -- prompts

    def prompts_get(self, call):
        """Return the messages of a prompt."""
        name, arguments = call.params.get("name"), call.params.get("arguments", {})
        prompt = next((prompt for prompt in PROMPTS if prompt["name"] == name), None)
        if prompt is None:
            return self.refuse_prompt(call, f"unknown prompt: {name}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "`arguments` must be an object")
        for argument in prompt.get("arguments", ()):
            if argument.get("required") and argument["name"] not in arguments:
                return self.refuse_prompt(call, f"missing argument `{argument['name']}`")
        return {"description": prompt["description"], "messages": self.get_messages(call, name)}

    def refuse_prompt(self, call, reason):
        """Refuse an unknown prompt or missing arguments."""
        raise RpcError(INVALID_PARAMS, reason)

    def get_messages(self, call, name):
        """Return the messages of a prompt."""
        if name == "greet":
            who = call.params.get("arguments", {}).get("name", "you")
            return [{"role": "user", "content": make_text(f"Greet {who}.")}]
        return [{"role": "user", "content": block} for block in self.get_media(call)]

    # -- completions, logging, subscriptions

    def completion_complete(self, call):
        """Complete an argument of a prompt or of a template."""
        reference, argument = call.params.get("ref"), call.params.get("argument")
        if not isinstance(argument, dict) or not isinstance(argument.get("value"), str):
            raise RpcError(INVALID_PARAMS, "`argument` must have a name and a value")
        values = self.find_values(reference, argument.get("name"))
        if values is None:
            return self.refuse_reference(call)
        found = [value for value in values if value.lower().startswith(argument["value"].lower())]
        return {"completion": {"values": found, "total": len(found), "hasMore": False}}

    def find_values(self, reference, name):
        """Return the values of an argument; None if there is no such argument."""
        if reference == {"type": "ref/prompt", "name": "greet"}:
            return {"name": NAMES, "tone": ("friendly", "formal")}.get(name)
        if reference == {"type": "ref/resource", "uri": TEMPLATE["uriTemplate"]}:
            return {"number": ("1", "2", "3")}.get(name)
        if isinstance(reference, dict) and reference.get("name") == "media":
            return ()
        return None

    def refuse_reference(self, call):
        """Refuse a reference to nothing."""
        raise RpcError(INVALID_PARAMS, "unknown reference or argument")

    def logging_setlevel(self, call):
        """Set the level of a legacy session."""
        if call.params.get("level") not in LEVELS:
            return self.refuse_level(call)
        call.session.log_level = call.params["level"]
        return {}

    def refuse_level(self, call):
        """Refuse an unknown level."""
        raise RpcError(INVALID_PARAMS, "unknown log level")

    def subscriptions_listen(self, call):
        """Acknowledge a subscription and hold it open."""
        wanted = call.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "`notifications` must be an object")
        yield from self.acknowledge(call, wanted)
        try:
            while True:
                yield 3600.0
        except EndOfInputError:
            yield self.notify("notifications/cancelled", {"requestId": call.id})
        return {"_meta": self.get_subscription_meta(call)}

    def acknowledge(self, call, wanted):
        """Yield the first message of a subscription."""
        offered = ("toolsListChanged", "resourceSubscriptions")
        honoured = {name: wanted[name] for name in offered if wanted.get(name)}
        yield self.notify(
            "notifications/subscriptions/acknowledged",
            {"_meta": self.get_subscription_meta(call), "notifications": honoured},
        )

    def get_subscription_meta(self, call):
        """Return the `_meta` of each message of a subscription."""
        return {META + "subscriptionId": call.id}

"""Correct servers that do what is unusual and allowed; none of it may be a finding."""

import sys
import time

from tests.validate.servers.core import INFO, LEGACY, META, METHOD_NOT_FOUND, MODERN, RpcError
from tests.validate.servers.features import TOOLS, Server, make_text
from tests.validate.servers.stdio import StdioLoop, write_all


class ExtraMembers(Server):
    """Results and definitions have members that no specification names."""

    def make_response(self, call, result):
        if call.method != "ping":  # whose result must be empty
            result = {**result, "example.com/cost": 3}
        return super().make_response(call, result)

    def get_capabilities(self, revision):
        extra = {"experimental": {"com.example/audit": {}}, "example": {"level": 2}}
        return {**super().get_capabilities(revision), **extra}

    def get_tools(self, call):
        return [{**tool, "category": "numbers"} for tool in super().get_tools(call)]


class CarriageReturnLoop(StdioLoop):
    """Ends lines as Windows does, and writes to stderr."""

    def write(self, message):
        sys.stderr.write("sending a message\n")
        write_all(self.server.encode(message) + b"\r\n")


class CarriageReturns(Server):
    """Lines end with CR LF; stderr is in use."""

    loop_class = CarriageReturnLoop


class ToolsOnly(Server):
    """Offers tools in one page, without optional members, and nothing else."""

    page_size = 100
    instructions = ""

    def get_capabilities(self, revision):
        return {"tools": {}}

    def get_tools(self, call):
        kept = ("name", "inputSchema")
        tools = [{name: tool[name] for name in kept} for tool in TOOLS[1:3]]
        return [*tools, {"name": "ping_pong", "inputSchema": {"type": "object"}}]

    def find_tool(self, name):
        found = {"name": "ping_pong", "inputSchema": {"type": "object", "properties": {}}}
        return found if name == "ping_pong" else super().find_tool(name)

    def check_arguments(self, tool, arguments):
        # Its schema allows any arguments.
        return "" if tool["name"] == "ping_pong" else super().check_arguments(tool, arguments)

    def call_ping_pong(self, call, arguments):
        return {"content": [make_text("pong")]}

    def wants_log(self, call, level):
        return False

    def subscriptions_listen(self, call):
        raise RpcError(METHOD_NOT_FOUND, "nothing to subscribe to")


class LongTools(Server):
    """Has tools whose list does not fit into one packet."""

    def get_tools(self, call):
        return [{**it, "description": "A long text. " * 50_000} for it in super().get_tools(call)]


class UnknownVersionsRefused(Server):
    """Refuses a version that it does not know, as the example of the lifecycle page does."""

    def negotiate(self, asked):
        if asked not in self.revisions:
            raise self.refuse_version(asked)
        return super().negotiate(asked)


class ErrorsAsText(Server):
    """Reports errors of calls in their text, without `isError`."""

    def refuse_tool(self, call, name):
        return {"content": [make_text("Error: missing arguments")], "isError": False}

    def refuse_arguments(self, call, violation):
        return {"content": [make_text("Error: " + violation)]}


class SlowStart(Server):
    """Takes a moment before it reads anything."""

    start_seconds = 1.5

    def __init__(self):
        time.sleep(self.start_seconds)


class CachedResults(Server):
    """Counts once; later calls are answered at once, before a cancellation can be read."""

    has_counted = False

    def call_count(self, call, arguments):
        if not self.has_counted:
            self.has_counted = True
            return (yield from super().call_count(call, arguments))
        return {"content": [make_text("counted")]}


class EmptyLists(Server):
    """Declares every feature and offers none."""

    def get_tools(self, call):
        return []

    def get_resources(self, call):
        return []

    def paginate(self, call, items, key):
        super().paginate(call, items, key)
        return {key: []}

    def tools_call(self, call):
        return self.refuse_tool(call, call.params.get("name"))

    def prompts_get(self, call):
        return self.refuse_prompt(call, "unknown prompt")

    def resources_read(self, call):
        return self.refuse_resource(call, str(call.params.get("uri")))


class FailingTools(Server):
    """Every call of a tool fails, and says so properly."""

    def run_tool(self, call):
        """Return the failure."""
        return {"content": [make_text("the API key is not set")], "isError": True}

    def call_add(self, call, arguments):
        return self.run_tool(call)

    call_count = call_find_city = call_greet_user = call_show_media = call_add


class LegacyOnly(Server):
    """Knows the handshake revisions alone."""

    revisions = LEGACY


class LatestLegacyOnly(Server):
    """Knows one revision."""

    revisions = ("2025-06-18",)


class ModernOnly(Server):
    """Knows 2026-07-28 alone."""

    revisions = (MODERN,)


class SingleUseStates(Server):
    """Accepts each `requestState` once."""

    issued = 0

    def __init__(self):
        self.states = set()

    def require_input(self, call):
        self.issued += 1
        state = f"state-{self.issued}-7f3a9c51d2"
        self.states.add(state)
        return {**super().require_input(call), "requestState": state}

    def is_own_state(self, state):
        is_own = state in self.states
        self.states.discard(state)
        return is_own


class SlowAnswers(Server):
    """Takes a moment for each answer."""

    def run(self, call):
        yield 0.15
        return (yield from super().run(call))


class RicherMembers(Server):
    """Sends members of later revisions where the schema of the earlier one allows more members."""

    def knows(self, call, member):
        return True

    def describe(self, revision):
        info = {**INFO, "title": "Reference", "websiteUrl": "https://example.com"}
        return {**super().describe(revision), "serverInfo": info}


class MetaEverywhere(Server):
    """Results, tools and notifications have `_meta` with valid keys of the server's own."""

    def make_response(self, call, result):
        own = {"com.example/trace": "a1", "x": None, "example.com/a.b_c-d": [1]}
        meta = {**own, **result.get("_meta", {})}
        return super().make_response(call, {**result, "_meta": meta})

    def get_subscription_meta(self, call):
        return {META + "subscriptionId": call.id, "com.example/trace": "a1"}


class NoPaging(Server):
    """Everything is in one page."""

    page_size = 1000


class SilentProgress(Server):
    """Sends neither progress nor logs, which is optional."""

    def report_progress(self, call, step, steps):
        yield from ()

    def wants_log(self, call, level):
        return False

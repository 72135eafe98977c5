"""A server whose texts contain markup, terminal sequences and its own secret."""

import os

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import TOOLS, Server
from tests.validate.servers.stdio import write_all

MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\" onmouseover='alert(1)'"
    " [link](javascript:alert(1)) | **bold** `code` \x1b[31mred\x1b]0;title\x07 \u202egnirts\u2066"
    " \U000e0041 & &lt;b&gt; \x00\x9b31m"
)


class Hostile(Server):
    """A server that puts hostile text into everything that a report may show."""

    def add_envelope(self, call, result):
        info = {"name": MARKUP, "version": MARKUP}
        result["_meta"] = {"io.modelcontextprotocol/serverInfo": info}
        return super().add_envelope(call, result)

    def describe(self, revision):
        return {**super().describe(revision), "serverInfo": {"name": MARKUP, "version": MARKUP}}

    def get_tools(self, call):
        secret = os.environ.get("SERVER_SECRET", "")
        first = {**TOOLS[0], "name": "add", "description": f"{MARKUP} {secret}", "title": MARKUP}
        return [first, {**TOOLS[1], "name": f"bad {MARKUP}", "description": ""}]

    def refuse_arguments(self, call, violation):
        secret = os.environ.get("SERVER_SECRET", "")
        write_all(f"{MARKUP} {secret}\n".encode())
        raise RpcError(-32603, f"{MARKUP} {secret} {violation}")

    def receive_notification(self, message, session):
        if message["method"] == "notifications/cancelled":
            os.write(2, f"{MARKUP} {os.environ.get('SERVER_SECRET', '')}\n".encode())
            os._exit(1)
        yield from super().receive_notification(message, session)
